/**
 * Which names this server answers to. Outside production its pages contain an API key of the demo. A page of another site can give
 * its own name the address of this server (DNS rebinding), and would read them.
 */
import type { IncomingMessage } from "node:http";
import { BlockList, isIP } from "node:net";

export interface HostCheckOptions {
  environment: string;
  http: {
    publicUrl: string | null;
    /** The address that the server listens on. */
    host: string;
  };
}

const loopback = new BlockList();
loopback.addSubnet("127.0.0.0", 8, "ipv4");
loopback.addAddress("::1", "ipv6");
const LOCAL_NAME = /^(?:.+\.)?localhost$/;
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
  return ({ headers: { host }, rawHeaders }) => {
    if (countHosts(rawHeaders) > 1) return "The request is not valid HTTP: it has two Host headers";
    // HTTP/1.0 has no Host.
    if (host === undefined || isAnyRight || isOwnName(host, ownHost)) return null;
    return `This server does not answer to ${host.slice(0, 100)}. Use localhost, or set PUBLIC_URL`;
  };
}

function countHosts(rawHeaders: readonly string[]): number {
  return rawHeaders.filter((name, index) => index % 2 === 0 && /^host$/i.test(name)).length;
}

function isOwnName(host: string, ownHost: string): boolean {
  if (!URL.canParse(`http://${host}`)) return false;
  const name = new URL(`http://${host}`).hostname.replaceAll(/^\[|\]$/g, "");
  // An IP address in a URL cannot be rebound.
  const isAnyAddress = WILDCARDS.has(ownHost) && isIP(name) !== 0;
  return isAnyAddress || name === ownHost.toLowerCase() || isLoopback(name);
}

/** True for a name or an IP address (without brackets) that only this machine can reach. */
export function isLoopback(name: string): boolean {
  const version = isIP(name);
  return version === 0 ? LOCAL_NAME.test(name) : loopback.check(name, version === 4 ? "ipv4" : "ipv6");
}
