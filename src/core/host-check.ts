/**
 * Which names this server answers to. Outside production its pages contain an API key of the demo. A page of another site can give
 * its own name the address of this server (DNS rebinding), and would read them.
 */
import type { IncomingMessage } from "node:http";
import { isIP } from "node:net";
import { isLoopback } from "./network.ts";

export interface HostCheckOptions {
  environment: string;
  http: {
    publicUrl: string | null;
    /** The address that the server listens on. */
    host: string;
  };
}

const WILDCARDS: ReadonlySet<string> = new Set(["0.0.0.0", "::"]);

/**
 * Returns a function that says why a request is not answered, or null. In production, and with PUBLIC_URL, every name is right:
 * a proxy may use any.
 */
export function createHostCheck({
  environment,
  http: { publicUrl, host: ownHost },
}: HostCheckOptions): (request: IncomingMessage) => string | null {
  const isAnyRight = publicUrl !== null || environment === "production";
  return ({ headersDistinct }) => {
    const [host, ...others] = headersDistinct["host"] ?? [];
    if (others.length > 0) return "The request is not valid HTTP: it has two Host headers";
    // HTTP/1.0 has no Host.
    if (host === undefined || isAnyRight || isOwnName(host, ownHost)) return null;
    return `This server does not answer to ${host.slice(0, 100)}. Use localhost, or set PUBLIC_URL`;
  };
}

function isOwnName(host: string, ownHost: string): boolean {
  if (!URL.canParse(`http://${host}`)) return false;
  const name = new URL(`http://${host}`).hostname.replaceAll(/^\[|\]$/g, "");
  // An IP address in a URL cannot be rebound.
  const isAnyAddress = WILDCARDS.has(ownHost) && isIP(name) !== 0;
  return isAnyAddress || name === ownHost.toLowerCase() || isLoopback(name);
}
