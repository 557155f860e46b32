/** The HTTP client for webhooks: limits on time and size, and failures as results. */
import type { Socket } from "node:net";
import { StringDecoder } from "node:string_decoder";
import { Client, type Dispatcher } from "undici";
import { SECOND_MS } from "../time.ts";
import type { AddressGuard } from "./address-guard.ts";
import { blockedUrl, classifyError, isClientError, timeoutFailure, type RequestFailure } from "./errors.ts";

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

const defaultLimits = {
  /** DNS, connect and TLS together. */
  connectMs: 5_000,
  /** The whole request, including the response body. */
  totalMs: 15_000,
  /** How much of a response body is read, and how much of that is stored. */
  readBytes: 16 * 1024,
  keepBytes: 4 * 1024,
  headerBytes: 16 * 1024,
  /** How long an idle connection stays open, or shorter if the server's `Keep-Alive` header says so. */
  keepAliveMs: 4_000,
};

export type HttpClientLimits = typeof defaultLimits;

interface HttpClientOptions {
  guard: AddressGuard;
  limits?: Partial<HttpClientLimits>;
  /** PEM certificates of the authorities to trust instead of Node's own. */
  ca?: string;
}

/**
 * Keeps connections alive, one request at a time on each. Not with undici's `Agent`, whose pool takes a tenth more CPU per delivery, and
 * opens a second connection for a request that follows immediately.
 */
export class HttpClient implements AsyncDisposable {
  readonly limits: HttpClientLimits;
  readonly #guard: AddressGuard;
  readonly #connectionOptions: Client.Options;
  readonly #open = new Set<Client>();
  /** Idle connections by origin. The most recently used one is last and used first, so that surplus ones time out. */
  readonly #idle = new Map<string, Client[]>();

  constructor({ guard, limits, ca }: HttpClientOptions) {
    this.limits = { ...defaultLimits, ...limits };
    this.#guard = guard;
    const { connectMs, headerBytes, keepAliveMs } = this.limits;
    const connect = guard.connector(connectMs, ca);
    this.#connectionOptions = {
      connect: (options, callback) =>
        connect(options, (...result) => {
          if (result[1]) skipInterimResponses(result[1], headerBytes);
          callback(...result);
        }),
      allowH2: false,
      // `post` has one timer for both.
      headersTimeout: 0,
      bodyTimeout: 0,
      maxHeaderSize: headerBytes,
      keepAliveTimeout: keepAliveMs,
      // Longer times that receivers ask for would add up to thousands of open connections.
      keepAliveMaxTimeout: keepAliveMs,
      keepAliveTimeoutThreshold: SECOND_MS,
      // Names are resolved only when a connection opens, so connections are renewed to notice a changed IP address.
      maxRequestsPerClient: 1_000,
    };
  }

  /**
   * Sends the request without following redirects. Network failures are results. Rejects only for our own errors: a malformed
   * request, such as a line break in a header, or no free file descriptor, port or memory.
   */
  async post({ url: text, headers, body }: OutgoingRequest): Promise<OutgoingResult> {
    const url = URL.parse(text);
    if (!url) return { kind: "failure", ...blockedUrl("is not a URL"), durationMs: 0 };
    const idle = this.#idle.get(url.origin)?.pop();
    // An idle connection was checked when it was opened.
    const problem = idle ? null : this.#guard.urlProblem(url);
    if (problem) return { kind: "failure", ...blockedUrl(problem.message), durationMs: 0 };
    const path = url.pathname + url.search;
    const exchange = new Exchange(this.limits, { path, method: "POST", headers, body });
    const startedMs = performance.now();
    const timer = setTimeout(() => exchange.timeOut(), this.limits.totalMs);
    try {
      let outcome = await this.#attempt(url, exchange, idle);
      // The receiver closed the idle connection, so it has most likely not seen the request (RFC 9112, 9.3.1). If it has, it can
      // detect the duplicate by its id.
      const isStale = idle && !exchange.hasBegun && outcome.kind === "failure" && outcome.class === "reset";
      if (isStale) outcome = await this.#attempt(url, exchange);
      return { ...outcome, durationMs: Math.round(performance.now() - startedMs) };
    } finally {
      clearTimeout(timer);
    }
  }

  /** Sends on `client`, and keeps it for later requests if the response was complete. */
  async #attempt({ origin, host, protocol }: URL, exchange: Exchange, client = this.#connect(origin)) {
    const { connectMs: connectTimeoutMs, totalMs } = this.limits;
    try {
      await exchange.send(client);
      return { kind: "response", ...exchange.response() } as const;
    } catch (error) {
      if (!exchange.isTimedOut && isClientError(error as Error)) throw error;
      const failure = exchange.isTimedOut
        ? timeoutFailure(totalMs, exchange.hasBegun)
        : classifyError(error, { host, secure: protocol === "https:", connectTimeoutMs });
      return { kind: "failure", ...failure } as const;
    } finally {
      if (exchange.isComplete) this.#release(origin, client);
      else this.#discard(origin, client);
    }
  }

  #release(origin: string, client: Client): void {
    const idle = this.#idle.get(origin);
    if (idle) idle.push(client);
    else this.#idle.set(origin, [client]);
  }

  #connect(origin: string): Client {
    const client = new Client(origin, this.#connectionOptions);
    this.#open.add(client);
    client.on("disconnect", () => {
      if (this.#idle.get(origin)?.includes(client)) this.#discard(origin, client);
    });
    return client;
  }

  #discard(origin: string, client: Client): void {
    if (!this.#open.delete(client)) return;
    const idle = this.#idle.get(origin)?.filter((other) => other !== client) ?? [];
    if (idle.length > 0) this.#idle.set(origin, idle);
    else this.#idle.delete(origin);
    // Deferred, because undici still uses the client while it emits the current event.
    queueMicrotask(() => void client.destroy());
  }

  /** Waits for requests in flight. */
  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(Array.from(this.#open, (client) => client.close()));
  }
}

/** One request and its response. A handler, because `Client.request` takes 4 µs more CPU. */
class Exchange implements Dispatcher.DispatchHandler {
  status = 0;
  /** True from the first byte of the response. */
  hasBegun = false;
  isTimedOut = false;
  /** True once the response was read to its end, so that the connection can be used again. */
  isComplete = false;
  readonly #limits: HttpClientLimits;
  readonly #options: Dispatcher.DispatchOptions;
  #headers: Readonly<Record<string, string | string[] | undefined>> = {};
  #chunks: Buffer[] = [];
  #bytesRead = 0;
  #controller: Dispatcher.DispatchController | null = null;
  #finished = Promise.withResolvers<void>();

  constructor(limits: HttpClientLimits, options: Dispatcher.DispatchOptions) {
    this.#limits = limits;
    this.#options = options;
  }

  /** Resolves with the response, or as much of its body as is read. Rejects with undici's error. */
  send(client: Client): Promise<void> {
    this.#finished = Promise.withResolvers();
    client.dispatch(this.#options, this);
    return this.#finished.promise;
  }

  timeOut(): void {
    this.isTimedOut = true;
    const error = new Error("timeout");
    this.#finished.reject(error);
    this.#controller?.abort(error);
  }

  response() {
    const { keepBytes } = this.#limits;
    return {
      status: this.status,
      headers: storedHeaders(this.#headers),
      bodyText: decodeBody(this.#chunks, this.#bytesRead > keepBytes),
    };
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.isTimedOut) controller.abort(new Error("timeout"));
  }

  onResponseStarted(): void {
    this.hasBegun = true;
  }

  onResponseStart(
    _controller: unknown,
    status: number,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    if (status < 200) throw new Error("bad response");
    this.status = status;
    this.#headers = headers;
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    const { keepBytes, readBytes } = this.#limits;
    const missing = keepBytes - this.#bytesRead;
    if (missing > 0) this.#chunks.push(chunk.subarray(0, missing));
    this.#bytesRead += chunk.length;
    if (this.#bytesRead <= readBytes) return;
    // The rest of the body is not needed.
    this.#finished.resolve();
    controller.abort(new Error("enough"));
  }

  onResponseEnd(): void {
    this.isComplete = true;
    this.#finished.resolve();
  }

  onResponseError(_controller: unknown, error: Error): void {
    this.#finished.reject(error);
  }
}

/** Removes U+0000, which PostgreSQL's text cannot store, and a last character that truncation cut in two. */
function decodeBody(chunks: readonly Buffer[], truncated: boolean): string {
  const bytes = Buffer.concat(chunks);
  const text = truncated ? new StringDecoder("utf8").write(bytes) : bytes.toString("utf8");
  return text.replaceAll("\0", "");
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

function storedHeaders(headers: Readonly<Record<string, string | string[] | undefined>>): ResponseHeaders {
  const stored: Record<string, string> = {};
  for (const name of STORED_HEADERS) {
    const value = [headers[name]].flat()[0];
    if (value !== undefined) stored[name] = value.slice(0, MAX_HEADER_VALUE_LENGTH);
  }
  return stored;
}

const MAX_INTERIM_RESPONSES = 10;
const INTERIM = "HTTP/1.1 1";
const SWITCHING_PROTOCOLS = "HTTP/1.1 101";
const HEAD_END = "\r\n\r\n";
const NOTHING: Buffer = Buffer.alloc(0);

/**
 * Drops interim responses before the final one. A server may send `100 Continue` unasked (RFC 9110, 15.2), and
 * undici would end the connection. Waits for the rest of a head of up to `maxHeadBytes`.
 */
function skipInterimResponses(socket: Socket, maxHeadBytes: number): void {
  const read = socket.read.bind(socket) as () => Buffer | null;
  const write = socket.write.bind(socket) as (...args: unknown[]) => boolean;
  let skippable = 0;
  let held = NOTHING;
  // undici writes the next request only after the response.
  socket.write = (...args: unknown[]): boolean => {
    skippable = MAX_INTERIM_RESPONSES;
    return write(...args);
  };
  socket.read = (): Buffer | null => {
    let bytes = read();
    while (bytes !== null && skippable > 0) {
      bytes = Buffer.concat([held, bytes]);
      const end = endOfInterim(bytes);
      const isCut = end === null && bytes.length <= maxHeadBytes;
      held = isCut ? bytes : NOTHING;
      if (end) skippable -= 1;
      else if (!isCut) skippable = 0;
      bytes = isCut ? NOTHING : bytes.subarray(end ?? 0);
      if (bytes.length === 0) bytes = read();
    }
    return bytes;
  };
}

/** Returns the length of an interim response at the start of `bytes`: 0 for none, null if more bytes are needed to tell. */
function endOfInterim(bytes: Buffer): number | null {
  const start = bytes.toString("latin1", 0, SWITCHING_PROTOCOLS.length);
  const isInterim = start.startsWith(INTERIM) && start !== SWITCHING_PROTOCOLS;
  if (!isInterim) return start.length < INTERIM.length && INTERIM.startsWith(start) ? null : 0;
  const end = bytes.indexOf(HEAD_END);
  return end === -1 ? null : end + HEAD_END.length;
}
