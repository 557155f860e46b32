/** What a WebSocket has to pass before it opens: room for one more, and where a browser's page came from. */
import { STATUS_CODES, type IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { createCidrMatcher } from "../../platform/cidr.ts";

export interface HandshakeRejection {
  status: 403 | 503;
  message: string;
}

export interface OriginPolicy {
  graphqlOrigins: readonly string[];
  publicUrl: string | null;
}

/**
 * Whether a page of the request's origin may open a socket: one from the server itself, or one that CORS lets in. A request
 * without an origin is not a browser's. The key in `connection_init` is what protects; this rule keeps the door the same
 * for WebSocket as for fetch. Who comes by a cookie has a narrower door: credential.ts.
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

/** The client's address as Express finds it: `trustProxy` is how many proxies stand in front, or their addresses. */
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
    // Whatever stands beyond the first that is no proxy of ours may be made up.
    const clientIndex = hops.findIndex((address, hop) => !isProxy(address, hop));
    return hops.at(clientIndex) ?? "";
  };
}

/** Answers in HTTP, for there is no WebSocket yet, with an error as `POST /graphql` has it. */
export function rejectUpgrade(
  socket: Duplex,
  { status, message }: HandshakeRejection,
  requestId: string,
): void {
  const code = { 403: "FORBIDDEN", 503: "SERVICE_UNAVAILABLE" }[status];
  const body = JSON.stringify({ errors: [{ message, extensions: { code, requestId } }] });
  socket.on("error", () => socket.destroy());
  socket.once("finish", () => socket.destroy());
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nContent-Type: application/json; charset=utf-8\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\nX-Content-Type-Options: nosniff\r\nCache-Control: no-store\r\n` +
      `X-Request-Id: ${requestId}\r\n` +
      `${status === 503 ? "Retry-After: 1\r\n" : ""}Connection: close\r\n\r\n${body}`,
  );
}
