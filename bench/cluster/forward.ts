/** Forwards one HTTP request through the balancer. */
import { request as requestOf, type IncomingMessage, type ServerResponse } from "node:http";
import { pipeline } from "node:stream";
import { describeRequest, type BalancerDeps } from "./backend.ts";

/** Headers that apply to one connection and are not forwarded (RFC 9110, section 7.6.1). */
const HOP_BY_HOP_HEADERS = new Set(["connection", "keep-alive", "proxy-connection", "te", "upgrade"]);

export function forward(incoming: IncomingMessage, response: ServerResponse, parts: BalancerDeps): void {
  const backend = parts.choose();
  const fail = (status: 502 | 503, reason: string): void => {
    if (response.destroyed) return;
    parts.onUnanswered({ ...describeRequest(incoming), port: backend?.port ?? null, reason });
    // The headers are already sent, so the only way to signal the failure is to cut the connection.
    if (response.headersSent) response.destroy();
    else response.writeHead(status, { "content-type": "text/plain", "retry-after": "1" }).end(`${reason}\n`);
  };
  if (!backend) return fail(503, "no backend is ready");

  const { hostname, port, agent } = backend;
  const { method, url: path } = incoming;
  const headers = forwardedHeaders(incoming);
  const outgoing = requestOf({ hostname, port, agent, method, path, headers, setHost: false });
  outgoing.once("response", (answer) => {
    response.writeHead(answer.statusCode ?? 502, filterHeaders(answer.rawHeaders));
    pipeline(answer, response, (error) => error && fail(502, `the response was cut off: ${error.message}`));
  });
  outgoing.once("error", (error) => fail(502, error.message));
  // The client has disconnected.
  response.once("close", () => {
    if (!response.writableFinished) outgoing.destroy();
  });
  incoming.pipe(outgoing);
}

/** Copies the request's headers and appends the client's IP address to X-Forwarded-For. */
function forwardedHeaders({ rawHeaders, headers, socket }: IncomingMessage): string[] {
  const before = headers["x-forwarded-for"];
  const hops = [...(before === undefined ? [] : [before]), socket.remoteAddress ?? ""].join(", ");
  return [...filterHeaders(rawHeaders, "x-forwarded-for"), "X-Forwarded-For", hops];
}

function filterHeaders(raw: readonly string[], dropped = ""): string[] {
  const kept: string[] = [];
  for (let at = 0; at < raw.length; at += 2) {
    const [name = "", value = ""] = raw.slice(at, at + 2);
    if (!HOP_BY_HOP_HEADERS.has(name.toLowerCase()) && name.toLowerCase() !== dropped) kept.push(name, value);
  }
  return kept;
}
