/** Checks of the WebSocket handshake: the Origin header and the client's IP address. */
import { STATUS_CODES, type IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { createCidrMatcher } from "../../../core/cidr.ts";
import type { ErrorFormatter } from "../execution/error-formatter.ts";

export interface HandshakeRejection {
  status: 400 | 403 | 503;
  message: string;
}

export interface OriginPolicy {
  graphqlOrigins: readonly string[];
  publicUrl: string | null;
}

/**
 * Returns a function that is true if the Origin header is absent (no browser), this server's own origin or an allowed CORS
 * origin. Session cookies have stricter rules: see authenticate.ts.
 */
export function createOriginCheck({
  graphqlOrigins,
  publicUrl,
}: OriginPolicy): (request: IncomingMessage) => boolean {
  const allowed = new Set(graphqlOrigins);
  if (publicUrl !== null) allowed.add(new URL(publicUrl).origin);
  return ({ headers: { origin, host } }) => {
    if (origin === undefined || allowed.has(origin)) return true;
    return URL.canParse(origin) && host !== undefined && new URL(origin).host === host.toLowerCase();
  };
}

/** Resolves the client's IP address like Express does. `trustProxy` is the number of trusted proxies, or their IP ranges. */
export function createClientIpResolver(
  trustProxy: number | readonly string[],
): (request: IncomingMessage) => string {
  const isProxy =
    typeof trustProxy === "number"
      ? (_: string, hop: number) => hop < trustProxy
      : createCidrMatcher(trustProxy);
  return ({ socket, headers }) => {
    const forwarded = String(headers["x-forwarded-for"] ?? "").split(",");
    const forwardedHops = forwarded.map((hop) => hop.trim()).filter((hop) => hop !== "");
    const hops = [socket.remoteAddress ?? "", ...forwardedHops.toReversed()];
    // The client can forge everything beyond the first untrusted hop.
    const clientIndex = hops.findIndex((address, hop) => !isProxy(address, hop));
    return hops.at(clientIndex) ?? "";
  };
}

/** Sends an HTTP response with a GraphQL error and closes the socket. */
export function rejectUpgrade(
  socket: Duplex,
  { status, message }: HandshakeRejection,
  { requestId, errors }: { requestId: string; errors: ErrorFormatter },
): void {
  const code = { 400: "BAD_REQUEST", 403: "FORBIDDEN", 503: "SERVICE_UNAVAILABLE" }[status];
  const extensions = errors.commonExtensions(code, requestId);
  const body = JSON.stringify({ errors: [{ message, extensions }] });
  socket.on("error", () => socket.destroy());
  socket.once("finish", () => socket.destroy());
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nContent-Type: application/json; charset=utf-8\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\nX-Content-Type-Options: nosniff\r\nCache-Control: no-store\r\n` +
      `X-Request-Id: ${requestId}\r\n` +
      `${status === 503 ? "Retry-After: 1\r\n" : ""}Connection: close\r\n\r\n${body}`,
  );
}
