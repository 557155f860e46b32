/** Sends one request over a pooled connection, with limits on time and size. */
import { performance } from "node:perf_hooks";
import { StringDecoder } from "node:string_decoder";
import type { Dispatcher } from "undici";
import type { PooledConnection, ConnectionPool } from "./connection-pool.ts";
import {
  connectTimeoutFailure,
  timeoutFailure,
  classifyError,
  type RequestFailure,
  type FailureClass,
} from "./errors.ts";

export interface OutgoingRequest {
  url: string;
  headers: Readonly<Record<string, string>>;
  body: string;
}

/** The stored response headers by lower-case name, each truncated at 1,024 characters. */
export type ResponseHeaders = Readonly<Record<string, string>>;

export type OutgoingResult =
  | {
      kind: "response";
      status: number;
      headers: ResponseHeaders;
      /** The first 4 KiB. Invalid UTF-8 is replaced, U+0000 removed. */
      bodyText: string;
      truncated: boolean;
      durationMs: number;
    }
  | { kind: "failure"; class: FailureClass; message: string; durationMs: number };

export interface HttpClientLimits {
  /** DNS, connect and TLS together. */
  connectMs: number;
  /** The whole request, including the response body. */
  totalMs: number;
  /** How much of a response body is read, and how much of that is stored. */
  readBytes: number;
  keepBytes: number;
  headerBytes: number;
  maxPerOrigin: number;
  maxIdle: number;
  keepAliveMs: number;
}

const STORED_HEADERS = [
  "content-type",
  "content-length",
  "content-encoding",
  "date",
  "location",
  "retry-after",
  "server",
  "x-request-id",
] as const;
const MAX_HEADER_VALUE_LENGTH = 1_024;
/** Maximum interim responses (1xx) before the final one. */
const MAX_INTERIM_RESPONSES = 10;

export interface RequestTarget {
  origin: string;
  path: string;
  /** Host and port, for messages. */
  host: string;
  secure: boolean;
}

export interface HttpCallContext {
  pool: ConnectionPool;
  limits: HttpClientLimits;
  target: RequestTarget;
  request: OutgoingRequest;
}

/** Resolves with the response or a failure. Rejects for a malformed request or without local resources to connect. */
export function sendRequest(context: HttpCallContext): Promise<OutgoingResult> {
  return new Promise((resolve, reject) => new HttpCall(context, resolve, reject).start());
}

/** Implements undici's handler itself, to create only one object per request on this hot path. */
class HttpCall implements Dispatcher.DispatchHandler {
  readonly #context: HttpCallContext;
  readonly #resolve: (result: OutgoingResult) => void;
  readonly #reject: (error: Error) => void;
  readonly #options: Dispatcher.DispatchOptions;
  #connection: PooledConnection | null = null;
  #controller: Dispatcher.DispatchController | null = null;
  #timer: NodeJS.Timeout | undefined;
  #connectTimer: NodeJS.Timeout | undefined;
  #startedMs = 0;
  #isReusedConnection = false;
  #hasRetried = false;
  #settled = false;
  #responseBegan = false;
  #interimResponses = 0;
  #status = 0;
  #headers: ResponseHeaders = {};
  #chunks: Buffer[] = [];
  #bytesRead = 0;

  constructor(
    context: HttpCallContext,
    resolve: (result: OutgoingResult) => void,
    reject: (error: Error) => void,
  ) {
    this.#context = context;
    this.#resolve = resolve;
    this.#reject = reject;
    const { target, request } = context;
    this.#options = { path: target.path, method: "POST", headers: request.headers, body: request.body };
  }

  start(fresh = false): void {
    const { pool, target } = this.#context;
    pool.acquire(target.origin, fresh, (connection) => this.#run(connection));
  }

  /** The time limit starts here, because waiting for a pooled connection is not the receiver's fault. */
  #run(connection: PooledConnection): void {
    if (this.#startedMs === 0) {
      this.#startedMs = performance.now();
      this.#timer = setTimeout(fireTimeout, this.#context.limits.totalMs, this);
    }
    this.#connection = connection;
    this.#isReusedConnection = connection.requestCount > 0;
    if (!connection.connected)
      this.#connectTimer = setTimeout(fireConnectTimeout, this.#context.limits.connectMs, this);
    connection.client.dispatch(this.#options, this);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    clearTimeout(this.#connectTimer);
    // The connection may have been renewed since `dispatch`.
    this.#isReusedConnection = (this.#connection?.requestCount ?? 0) > 0;
    if (this.#settled) controller.abort(new Error("settled"));
  }

  onResponseStarted(): void {
    this.#responseBegan = true;
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    this.#responseBegan = true;
    if (status < 200) {
      this.#interimResponses += 1;
      if (this.#interimResponses > MAX_INTERIM_RESPONSES) throw new Error("bad response");
      return;
    }
    this.#status = status;
    this.#headers = storedHeaders(headers);
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    const { keepBytes, readBytes } = this.#context.limits;
    const missing = keepBytes - this.#bytesRead;
    if (missing > 0) this.#chunks.push(chunk.length > missing ? chunk.subarray(0, missing) : chunk);
    this.#bytesRead += chunk.length;
    if (this.#bytesRead <= readBytes || this.#settled) return;
    // The rest of the body is not needed.
    this.#settleResponse();
    controller.abort(new Error("enough"));
  }

  onResponseEnd(): void {
    if (this.#connection) this.#context.pool.release(this.#connection);
    this.#connection = null;
    this.#settleResponse();
  }

  onResponseError(_controller: unknown, error: Error): void {
    clearTimeout(this.#connectTimer);
    const connection = this.#connection;
    const connected = connection?.connected ?? false;
    this.#connection = this.#controller = null;
    if (connection) this.#context.pool.discard(connection);
    if (this.#settled) return;
    if (isClientError(error)) {
      this.#settle();
      this.#reject(error);
      return;
    }
    const { target, limits } = this.#context;
    const failure = classifyError(error, {
      host: target.host,
      secure: target.secure,
      connected,
      connectTimeoutMs: limits.connectMs,
    });
    // The receiver closed a keep-alive connection while we wrote, so it has most likely not seen the request (RFC 9112,
    // 9.3.1); if it has, it can detect the duplicate by its id. Retry once, on a new connection.
    const stale = this.#isReusedConnection && !this.#responseBegan && failure.class === "reset";
    if (stale && !this.#hasRetried) {
      this.#hasRetried = true;
      this.start(true);
    } else {
      this.#settleFailure(failure);
    }
  }

  onTimeout(): void {
    this.#fail(timeoutFailure(this.#context.limits.totalMs, this.#responseBegan));
  }

  onConnectTimeout(): void {
    const { target, limits } = this.#context;
    this.#fail(connectTimeoutFailure(target.host, limits.connectMs));
  }

  #fail(failure: RequestFailure): void {
    if (this.#settled) return;
    this.#settleFailure(failure);
    if (this.#controller) this.#controller.abort(new Error("timeout"));
    else if (this.#connection) this.#context.pool.discard(this.#connection);
  }

  #settleResponse(): void {
    if (this.#settled) return;
    this.#settle();
    const { keepBytes } = this.#context.limits;
    const truncated = this.#bytesRead > keepBytes;
    this.#resolve({
      kind: "response",
      status: this.#status,
      headers: this.#headers,
      bodyText: decodeBody(this.#chunks, truncated),
      truncated,
      durationMs: this.#durationMs(),
    });
  }

  #settleFailure({ class: failureClass, message }: RequestFailure): void {
    this.#settle();
    this.#resolve({ kind: "failure", class: failureClass, message, durationMs: this.#durationMs() });
  }

  #settle(): void {
    this.#settled = true;
    clearTimeout(this.#timer);
    clearTimeout(this.#connectTimer);
  }

  #durationMs(): number {
    return Math.round(performance.now() - this.#startedMs);
  }
}

function fireTimeout(call: HttpCall): void {
  call.onTimeout();
}

function fireConnectTimeout(call: HttpCall): void {
  call.onConnectTimeout();
}

/** undici rejects the request (for example a line break in a header), or we lack resources to connect. */
const CLIENT_ERROR_CODES: ReadonlySet<unknown> = new Set([
  "UND_ERR_INVALID_ARG",
  "UND_ERR_NOT_SUPPORTED",
  "EMFILE",
  "ENFILE",
  "ENOBUFS",
]);

/** True for errors on our side, which must not count against the receiver. */
function isClientError(error: Error): boolean {
  return "code" in error && CLIENT_ERROR_CODES.has(error.code);
}

function storedHeaders(headers: Record<string, string | string[] | undefined>): ResponseHeaders {
  const stored: Record<string, string> = {};
  for (const name of STORED_HEADERS) {
    const value = headers[name];
    if (value === undefined) continue;
    const text = typeof value === "string" ? value : (value[0] ?? "");
    stored[name] = text.length > MAX_HEADER_VALUE_LENGTH ? text.slice(0, MAX_HEADER_VALUE_LENGTH) : text;
  }
  return stored;
}

/** Removes U+0000, which PostgreSQL's text cannot store, and a last character that truncation cut in two. */
function decodeBody(chunks: readonly Buffer[], truncated: boolean): string {
  const [first] = chunks;
  if (!first) return "";
  const bytes = chunks.length === 1 ? first : Buffer.concat(chunks);
  const text = truncated ? new StringDecoder("utf8").write(bytes) : bytes.toString("utf8");
  return text.includes("\0") ? text.replaceAll("\0", "") : text;
}
