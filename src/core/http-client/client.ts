/** The HTTP client for webhooks: requests over pooled connections, with limits on time and size, and failures as results. */
import { performance } from "node:perf_hooks";
import { StringDecoder } from "node:string_decoder";
import type { Dispatcher } from "undici";
import type { AddressGuard } from "./address-guard.ts";
import { ConnectionPool, type PooledConnection, type PoolLimits } from "./connection-pool.ts";
import { blockedUrl, timeoutFailure, classifyError, isClientError, type RequestFailure } from "./errors.ts";

export interface OutgoingRequest {
  url: string;
  headers: Readonly<Record<string, string>>;
  body: string;
}

/** The headers that the delivery log keeps, by lower-case name, each truncated at 1,024 characters. */
export type ResponseHeaders = Readonly<Record<string, string>>;

export type OutgoingResult =
  | {
      kind: "response";
      status: number;
      headers: ResponseHeaders;
      /** The first 4 KiB. Invalid UTF-8 is replaced, U+0000 removed. */
      bodyText: string;
      durationMs: number;
    }
  | ({ kind: "failure"; durationMs: number } & RequestFailure);

export interface HttpClientLimits extends PoolLimits {
  /** DNS, connect and TLS together. */
  connectMs: number;
  /** The whole request, including the response body. */
  totalMs: number;
  /** How much of a response body is read, and how much of that is stored. */
  readBytes: number;
  keepBytes: number;
}

const defaultLimits: HttpClientLimits = {
  connectMs: 5_000,
  totalMs: 15_000,
  readBytes: 16 * 1024,
  keepBytes: 4 * 1024,
  headerBytes: 16 * 1024,
  maxPerOrigin: 512,
  maxIdle: 1_024,
  keepAliveMs: 4_000,
};

export interface HttpClientOptions {
  guard: AddressGuard;
  limits?: Partial<HttpClientLimits>;
  /** PEM certificates of the authorities to trust instead of Node's own. */
  ca?: string;
}

interface RequestTarget {
  origin: string;
  path: string;
  /** Host and port, for messages. */
  host: string;
  secure: boolean;
}

const MAX_CACHED_TARGETS = 10_000;

export class HttpClient implements AsyncDisposable {
  readonly limits: HttpClientLimits;
  readonly pool: ConnectionPool;
  readonly #guard: AddressGuard;
  /** Parsed and checked URLs. The IP addresses of their hosts are checked at each connect. */
  readonly #targets = new Map<string, RequestTarget>();

  constructor({ guard, limits, ca }: HttpClientOptions) {
    this.limits = { ...defaultLimits, ...limits };
    this.pool = new ConnectionPool(guard.connector(this.limits.connectMs, ca), this.limits);
    this.#guard = guard;
  }

  /**
   * Sends the request without following redirects. Network failures are results. Rejects only for our own errors: a malformed
   * request, such as a line break in a header, or no free file descriptor, port or memory.
   */
  async post(request: OutgoingRequest): Promise<OutgoingResult> {
    const target = this.#targets.get(request.url) ?? this.#checkTarget(request.url);
    if ("class" in target) return { kind: "failure", ...target, durationMs: 0 };
    return await new HttpCall(this, target, request).send();
  }

  #checkTarget(text: string): RequestTarget | RequestFailure {
    const url = URL.parse(text);
    if (!url) return blockedUrl("is not a URL");
    const problem = this.#guard.urlProblem(url);
    if (problem) return blockedUrl(problem.message);
    const { origin, pathname, search, host, protocol } = url;
    const target = { origin, path: pathname + search, host, secure: protocol === "https:" };
    if (this.#targets.size >= MAX_CACHED_TARGETS) this.#targets.clear();
    this.#targets.set(text, target);
    return target;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.pool[Symbol.asyncDispose]();
  }
}

/** Maximum interim responses (1xx) before the final one. */
const MAX_INTERIM_RESPONSES = 10;

/** Implements undici's handler itself, to create only one object per request on this hot path. */
class HttpCall implements Dispatcher.DispatchHandler {
  readonly #client: HttpClient;
  readonly #target: RequestTarget;
  readonly #options: Dispatcher.DispatchOptions;
  readonly #result = Promise.withResolvers<OutgoingResult>();
  #connection: PooledConnection | null = null;
  #controller: Dispatcher.DispatchController | null = null;
  #timer: NodeJS.Timeout | undefined;
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

  constructor(client: HttpClient, target: RequestTarget, { headers, body }: OutgoingRequest) {
    this.#client = client;
    this.#target = target;
    this.#options = { path: target.path, method: "POST", headers, body };
  }

  send(fresh = false): Promise<OutgoingResult> {
    this.#client.pool.acquire(this.#target.origin, fresh, (connection) => this.#run(connection));
    return this.#result.promise;
  }

  /** The time limit starts here, because waiting for a pooled connection is not the receiver's fault. */
  #run(connection: PooledConnection): void {
    if (this.#startedMs === 0) {
      this.#startedMs = performance.now();
      this.#timer = setTimeout(fireTimeout, this.#client.limits.totalMs, this);
    }
    this.#connection = connection;
    connection.client.dispatch(this.#options, this);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#connection) {
      this.#isReusedConnection = this.#connection.requestCount > 0;
      this.#connection.skippable = MAX_INTERIM_RESPONSES;
    }
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
    const { keepBytes, readBytes } = this.#client.limits;
    const missing = keepBytes - this.#bytesRead;
    if (missing > 0) this.#chunks.push(chunk.length > missing ? chunk.subarray(0, missing) : chunk);
    this.#bytesRead += chunk.length;
    if (this.#bytesRead <= readBytes || this.#settled) return;
    // The rest of the body is not needed.
    this.#settleResponse();
    controller.abort(new Error("enough"));
  }

  onResponseEnd(): void {
    if (this.#connection) this.#client.pool.release(this.#connection);
    this.#connection = null;
    this.#settleResponse();
  }

  onResponseError(_controller: unknown, error: Error): void {
    if (this.#connection) this.#client.pool.discard(this.#connection);
    this.#connection = this.#controller = null;
    if (this.#settled) return;
    if (isClientError(error)) {
      this.#settle();
      this.#result.reject(error);
      return;
    }
    const { connectMs: connectTimeoutMs } = this.#client.limits;
    const failure = classifyError(error, { ...this.#target, connectTimeoutMs });
    // The receiver closed a keep-alive connection while we wrote, so it has most likely not seen the request (RFC 9112,
    // 9.3.1); if it has, it can detect the duplicate by its id. Retry once, on a new connection.
    const stale = this.#isReusedConnection && !this.#responseBegan && failure.class === "reset";
    if (stale && !this.#hasRetried) {
      this.#hasRetried = true;
      void this.send(true);
    } else {
      this.#fail(failure);
    }
  }

  onTimeout(): void {
    this.#fail(timeoutFailure(this.#client.limits.totalMs, this.#responseBegan));
  }

  #fail(failure: RequestFailure): void {
    if (this.#settled) return;
    this.#result.resolve({ kind: "failure", ...failure, durationMs: this.#settle() });
    if (this.#controller) this.#controller.abort(new Error("timeout"));
    else if (this.#connection) this.#client.pool.discard(this.#connection);
  }

  #settleResponse(): void {
    if (this.#settled) return;
    this.#result.resolve({
      kind: "response",
      status: this.#status,
      headers: this.#headers,
      bodyText: decodeBody(this.#chunks, this.#bytesRead > this.#client.limits.keepBytes),
      durationMs: this.#settle(),
    });
  }

  /** Returns the duration in milliseconds. */
  #settle(): number {
    this.#settled = true;
    clearTimeout(this.#timer);
    return Math.round(performance.now() - this.#startedMs);
  }
}

const fireTimeout = (call: HttpCall): void => call.onTimeout();

/** Removes U+0000, which PostgreSQL's text cannot store, and a last character that truncation cut in two. */
function decodeBody(chunks: readonly Buffer[], truncated: boolean): string {
  const [first] = chunks;
  if (!first) return "";
  const bytes = chunks.length === 1 ? first : Buffer.concat(chunks);
  const text = truncated ? new StringDecoder("utf8").write(bytes) : bytes.toString("utf8");
  return text.includes("\0") ? text.replaceAll("\0", "") : text;
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

function storedHeaders(headers: Record<string, string | string[] | undefined>): ResponseHeaders {
  const stored: Record<string, string> = {};
  for (const name of STORED_HEADERS) {
    const value = headers[name];
    const text = Array.isArray(value) ? value[0] : value;
    if (text !== undefined) stored[name] = text.slice(0, MAX_HEADER_VALUE_LENGTH);
  }
  return stored;
}
