/** Forwards a WebSocket connection through the balancer: pipes bytes both ways until either side closes. */
import type { IncomingMessage } from "node:http";
import { connect, type Socket } from "node:net";
import { describeRequest, type BalancerDeps } from "./backend.ts";

interface TunnelDeps extends BalancerDeps {
  /** Bytes that the client sent after the request. */
  readonly head: Buffer;
}

const UNAVAILABLE = "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nConnection: close\r\n\r\n";

export function tunnel(request: IncomingMessage, client: Socket, { head, ...parts }: TunnelDeps): void {
  const backend = parts.choose();
  const fail = (reason: string): void => {
    parts.onUnanswered({ ...describeRequest(request), port: backend?.port ?? null, reason });
    client.end(UNAVAILABLE);
  };
  // A client error closes the client's socket, and its close event then closes the upstream one.
  client.on("error", () => undefined);
  if (!backend) return fail("no backend is ready");

  const upstream = connect(backend.port, backend.hostname);
  let isConnected = false;
  upstream.once("connect", () => {
    isConnected = true;
    upstream.write(requestHead(request));
    upstream.write(head);
    client.pipe(upstream).pipe(client);
  });
  upstream.once("error", (error) => {
    if (!isConnected) fail(error.message);
  });
  upstream.once("close", () => isConnected && client.destroySoon());
  client.once("close", () => upstream.destroy());
}

/** Serialises the request with its hop-by-hop headers, because the upgrade is meant for the server. */
function requestHead({ method, url, rawHeaders, socket }: IncomingMessage): string {
  const lines = [`${method} ${url} HTTP/1.1`];
  for (let at = 0; at < rawHeaders.length; at += 2) lines.push(`${rawHeaders[at]}: ${rawHeaders[at + 1]}`);
  lines.push(`X-Forwarded-For: ${socket.remoteAddress ?? ""}`);
  return `${lines.join("\r\n")}\r\n\r\n`;
}
