/**
 * A small load balancer: round robin over the APIs whose /health/ready returns 200, with keep-alive connections. It
 * never retries, not even a refused connection, so every request that a server fails to answer counts as a failure.
 */
import { once } from "node:events";
import {
  Agent,
  createServer,
  request as requestOf,
  type IncomingMessage,
  type ServerResponse,
} from "node:http";
import { connect, type Socket } from "node:net";
import { pipeline } from "node:stream";
import { setTimeout as pause } from "node:timers/promises";
import { fetchReadiness } from "../../../bench/cluster/member.ts";

interface Backend {
  readonly url: string;
  readonly hostname: string;
  readonly port: number;
  readonly agent: Agent;
  isReady: boolean;
}

interface Chosen {
  readonly backend: Backend | null;
  readonly onUnanswered: (reason: string) => void;
}

type Choose = (request: IncomingMessage) => Chosen;

const CHECK_EVERY_MS = 200;
/** Shorter than the servers' idle timeout, so that a server never closes a connection that is about to be used. */
const IDLE_MS = 30_000;

/**
 * Resolves once it listens and has checked each backend. `urls` are base URLs of the backends, such as `http://127.0.0.1:4000`.
 * A server may stop and start again at its URL.
 */
export async function startBalancer(urls: readonly string[], listeningPort: number) {
  const backends = urls.map(createBackend);
  const unanswered: string[] = [];
  const next = roundRobin(backends);
  /** Chooses the backend of a request, and returns what records that it did not answer. */
  const choose: Choose = ({ method, url }) => {
    const backend = next();
    return {
      backend,
      onUnanswered: (reason) => void unanswered.push(`${method} ${url} at ${backend?.url}: ${reason}`),
    };
  };
  const server = createServer((request, response) => forward(request, response, choose(request)));
  const sockets = new Set<Socket>();
  server.on("upgrade", (request, socket, head) => tunnel(request, head, socket as Socket, choose(request)));
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });

  const stopping = new AbortController();
  await Promise.all(backends.map(checkBackend));
  const watches = backends.map((backend) => watchBackend(backend, stopping.signal));
  server.listen(listeningPort, "127.0.0.1");
  await once(server, "listening");
  return {
    /** Requests that got an error from the balancer, or were cut off, because a backend did not answer them. */
    unanswered,
    /** Base URLs of the backends that are ready now. */
    activeUrls: () => backends.filter((backend) => backend.isReady).map(({ url }) => url),
    async [Symbol.asyncDispose]() {
      stopping.abort();
      const closed = once(server, "close");
      server.close();
      for (const socket of sockets) socket.destroy();
      for (const { agent } of backends) agent.destroy();
      await Promise.all([closed, ...watches]);
    },
  };
}

function createBackend(url: string): Backend {
  const { hostname, port } = new URL(url);
  const agent = new Agent({ keepAlive: true, timeout: IDLE_MS });
  return { url, hostname, port: Number(port), agent, isReady: false };
}

function roundRobin(backends: readonly Backend[]): () => Backend | null {
  let turn = 0;
  return () => {
    for (let step = 0; step < backends.length; step += 1) {
      turn = (turn + 1) % backends.length;
      const backend = backends[turn];
      if (backend?.isReady) return backend;
    }
    return null;
  };
}

/** A status other than 200 excludes the backend. A missing response does not, because a busy machine may delay it. */
async function checkBackend(backend: Backend): Promise<void> {
  const status = await fetchReadiness(backend.url);
  if (status !== null) backend.isReady = status === 200;
}

async function watchBackend(backend: Backend, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await checkBackend(backend);
    await pause(CHECK_EVERY_MS, undefined, { signal, ref: false }).catch(() => undefined);
  }
}

/** Headers that apply to one connection and are not forwarded (RFC 9110, section 7.6.1). */
const HOP_BY_HOP_HEADERS = new Set(["connection", "keep-alive", "proxy-connection", "te", "upgrade"]);

function forward(
  incoming: IncomingMessage,
  response: ServerResponse,
  { backend, onUnanswered }: Chosen,
): void {
  const fail = (status: 502 | 503, reason: string): void => {
    if (response.destroyed) return;
    onUnanswered(reason);
    // The headers are already sent, so the only way to signal the failure is to cut the connection.
    if (response.headersSent) response.destroy();
    else response.writeHead(status, { "content-type": "text/plain", "retry-after": "1" }).end(`${reason}\n`);
  };
  if (!backend) return fail(503, "no backend is ready");

  const { hostname, port, agent } = backend;
  const { method, url: path } = incoming;
  const headers = filterHeaders(incoming.rawHeaders);
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

function filterHeaders(raw: readonly string[]): string[] {
  const kept: string[] = [];
  for (let at = 0; at < raw.length; at += 2) {
    const [name = "", value = ""] = raw.slice(at, at + 2);
    if (!HOP_BY_HOP_HEADERS.has(name.toLowerCase())) kept.push(name, value);
  }
  return kept;
}

const UNAVAILABLE = "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nConnection: close\r\n\r\n";

/** Forwards a WebSocket connection: pipes bytes both ways until either side closes. `head` was sent after the request. */
function tunnel(
  request: IncomingMessage,
  head: Buffer,
  client: Socket,
  { backend, onUnanswered }: Chosen,
): void {
  const fail = (reason: string): void => {
    onUnanswered(reason);
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
function requestHead({ method, url, rawHeaders }: IncomingMessage): string {
  const lines = [`${method} ${url} HTTP/1.1`];
  for (let at = 0; at < rawHeaders.length; at += 2) lines.push(`${rawHeaders[at]}: ${rawHeaders[at + 1]}`);
  return `${lines.join("\r\n")}\r\n\r\n`;
}
