/** The HTTP server: connection limits and timeouts, responses to malformed requests, and graceful shutdown. */
import {
  createServer,
  STATUS_CODES,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from "node:http";
import { Server as NetServer, type AddressInfo, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { setImmediate as nextTurn } from "node:timers/promises";
import { StartupError } from "../../core/errors.ts";
import { newRequestId } from "../../core/ids.ts";
import { MINUTE_MS, HOUR_MS } from "../../core/time.ts";
import { limitConnections, type ConnectionLimits, type ExceededLimit } from "./connection-limits.ts";
import { errorJson, hasBody, JSON_CONTENT_TYPE } from "../json.ts";
import { defaultHeaders } from "../default-headers.ts";

export interface HttpServer {
  /** URL that it listens on, such as `http://127.0.0.1:4000`. */
  readonly url: string;
  /** Accepts no new connections, answers the requests in flight, then closes. Takes at most `timeoutMs`. */
  stop(timeoutMs?: number): Promise<void>;
}

/** Handles connections that are upgraded to WebSockets. Disposing sends a close frame to their clients. */
export interface WebSocketHandler extends AsyncDisposable {
  readonly path: string;
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void;
}

export interface HttpServerOptions {
  readonly host: string;
  readonly port: number;
  readonly connections: ConnectionLimits;
  readonly onConnectionRejected: (limit: ExceededLimit) => void;
  /** Returns the URL of the section of the guide about an error code. */
  readonly errorUrl: (code: string) => string;
  readonly timeouts?: Partial<typeof TIMEOUTS_MS>;
}

const TIMEOUTS_MS = {
  /** From the start of a connection, or its previous response, to the last header of a request. */
  headers: 15_000,
  /** To the end of the body. */
  request: MINUTE_MS,
  /** The same for requests with `allowLongUpload`. */
  upload: HOUR_MS,
  /** Until the next request on a connection. */
  keepAlive: 65_000,
  /** Without traffic on a connection; longer than any SQL statement may take. */
  idleSocket: 120_000,
  /** For the client to read a written response. */
  response: MINUTE_MS,
  /** Interval of node:http's checks for late headers. */
  checkInterval: 5_000,
};
/** How long a connection without a request may still deliver one that was in transit when the shutdown began. */
const DRAIN_INTERVAL_MS = 1_000;
const STOP_TIMEOUT_MS = 30_000;

export async function listen(
  handler: RequestListener,
  { host, port, connections, onConnectionRejected, errorUrl, timeouts }: HttpServerOptions,
  webSockets: WebSocketHandler | null = null,
): Promise<HttpServer> {
  const timeoutsMs = { ...TIMEOUTS_MS, ...timeouts };
  const rejectMalformed = createMalformedHandler(errorUrl);
  const server = createServer(
    {
      headersTimeout: timeoutsMs.headers,
      requestTimeout: timeoutsMs.upload,
      keepAliveTimeout: timeoutsMs.keepAlive,
      connectionsCheckingInterval: timeoutsMs.checkInterval,
      // Ignore other upgrades, such as to HTTP/2 by Java's client, and handle their requests as HTTP/1.1.
      shouldUpgradeCallback: (request) => webSockets !== null && isUpgradeFor(webSockets, request),
    },
    (request, response) => {
      limitResponseTime(response, timeoutsMs.response);
      limitRequestTime(request, timeoutsMs.request, () => {
        // The response has started, so no error can be sent any more.
        if (response.headersSent) request.socket.destroy();
        else rejectMalformed({ code: "ERR_HTTP_REQUEST_TIMEOUT" }, request.socket);
      });
      handler(request, response);
    },
  );
  server.setTimeout(timeoutsMs.idleSocket);
  const sockets = limitConnections(server, connections, onConnectionRejected);
  server.on("clientError", rejectMalformed);
  server.on("upgrade", (request, socket, head) => webSockets?.upgrade(request, socket, head));
  await startListening(server, host, port);
  const { address, family, port: boundPort } = server.address() as AddressInfo;
  const hostText = family === "IPv6" ? `[${address}]` : address;
  return {
    url: `http://${hostText}:${boundPort}`,
    stop: (timeoutMs = STOP_TIMEOUT_MS) => stop({ server, webSockets, sockets }, timeoutMs),
  };
}

/** node:http has one limit for all requests, but an import may take longer than others. */
const deadlines = new WeakMap<IncomingMessage, NodeJS.Timeout>();

/** Calls `onTimeout` if the body has not arrived within `timeoutMs`, unless `allowLongUpload` is called before. */
export function limitRequestTime(request: IncomingMessage, timeoutMs: number, onTimeout: () => void): void {
  if (!hasBody(request)) return;
  const deadline = setTimeout(() => {
    if (!request.complete) onTimeout();
  }, timeoutMs).unref();
  deadlines.set(request, deadline);
  request.once("close", () => clearTimeout(deadline));
}

/** Lifts the limit of `limitRequestTime`; the server's own limit still applies. For authenticated requests only. */
export function allowLongUpload(request: IncomingMessage): void {
  clearTimeout(deadlines.get(request));
}

/** Destroys the connection if the client has not read the complete response within `timeoutMs`, because it stays in memory until then. */
function limitResponseTime(response: ServerResponse, timeoutMs: number): void {
  response.once("prefinish", () => {
    const { socket } = response;
    // Usually the operating system has taken all of it by now.
    if (!socket || socket.writableLength === 0) return;
    const deadline = setTimeout(() => socket.destroy(), timeoutMs).unref();
    response.once("close", () => clearTimeout(deadline));
  });
}

function isUpgradeFor({ path }: WebSocketHandler, { headers, url = "" }: IncomingMessage): boolean {
  // As for requests, a slash at the end is the same path.
  const isPath = url.split("?", 1)[0]?.replace(/\/$/, "") === path;
  return headers.upgrade?.toLowerCase() === "websocket" && isPath;
}

async function startListening(server: Server, host: string, port: number): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once("error", reject);
  server.listen(port, host, resolve);
  try {
    await promise;
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === "EADDRINUSE")
      throw new StartupError(
        `Port ${port} on ${host} is already in use.`,
        "Stop the process that listens there, or set PORT to another port.",
        error,
      );
    throw new StartupError(
      `Cannot listen on ${host}:${port} (${code ?? "unknown"}).`,
      "Check HOST and PORT.",
      error,
    );
  } finally {
    server.off("error", reject);
  }
}

interface StoppingServer {
  server: Server;
  webSockets: WebSocketHandler | null;
  /** All connections, including WebSockets, which the HTTP server no longer tracks. */
  sockets: ReadonlySet<Socket>;
}

/**
 * Stops listening first. `Server.close` of node:http would also close idle connections, which may have a request in transit;
 * responses carry `Connection: close` by now. Closes WebSockets and idle connections next, and at the time limit all others.
 */
async function stop({ server, webSockets, sockets }: StoppingServer, timeoutMs: number): Promise<void> {
  const closed = new Promise<void>((resolve) => server.once("close", resolve));
  // Accept what the kernel has accepted already: closing the listener would reset it. Two turns hold a whole poll phase.
  await nextTurn();
  await nextTurn();
  NetServer.prototype.close.call(server);
  // In a busy process this timer runs before the requests that have arrived are read: close idle connections after that.
  const idleTimer = setInterval(() => setImmediate(closeIdleConnections, server, sockets), DRAIN_INTERVAL_MS);
  const forceTimer = setTimeout(() => {
    for (const socket of sockets) socket.destroy();
  }, timeoutMs);
  await webSockets?.[Symbol.asyncDispose]();
  await closed;
  clearInterval(idleTimer);
  clearTimeout(forceTimer);
}

function closeIdleConnections(server: Server, sockets: ReadonlySet<Socket>): void {
  server.closeIdleConnections();
  // node:http does not count a connection as idle before its first request.
  for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy();
}

const DEFAULT_HEADER_LINES = defaultHeaders()
  .map(([name, value]) => `${name}: ${value}\r\n`)
  .join("");

/** Returns a handler that responds in the envelope to requests that the HTTP parser rejects. */
function createMalformedHandler(errorUrl: (code: string) => string) {
  return (error: { code?: string }, socket: Duplex): void => {
    if (!socket.writable || error.code === "ECONNRESET") {
      socket.destroy();
      return;
    }
    const status = { HPE_HEADER_OVERFLOW: 431, ERR_HTTP_REQUEST_TIMEOUT: 408 }[error.code ?? ""] ?? 400;
    const message = {
      431: "The headers are too large",
      408: "The request took too long to arrive",
      400: "The request is not valid HTTP",
    }[status] as string;
    const requestId = newRequestId();
    const code = "BadRequestException";
    const body = errorJson(requestId, { code, message, details: null, doc_url: errorUrl(code) });
    socket.end(
      `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nContent-Type: ${JSON_CONTENT_TYPE}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n` +
        `${DEFAULT_HEADER_LINES}X-Request-Id: ${requestId}\r\nConnection: close\r\n\r\n${body}`,
    );
  };
}
