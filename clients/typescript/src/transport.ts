/** Sends operations: URL, headers, timeout, retries, and the answer's envelope. */
import { fillPath, queryString, toBaseUrl, toJson, type Path, type Query } from "./encode.ts";
import { ConnectionError, TimeoutError, WaymarkError } from "./errors.ts";
import { operations, VERSION, type Operations, type OperationSpec } from "./generated/api.ts";
import { Limiter } from "./limiter.ts";
import { isRetryable, MAX_TIMER_MS, retryDelayMs, sleep, type Sleep } from "./retry.ts";
import { toApiError } from "./to-api-error.ts";

export interface ClientOptions {
  /** Sent as `x-api-key`. Keep it out of pages that others can open. */
  apiKey: string;
  /** URL of the service, with or without `/v1`. */
  baseUrl: string;
  /** Time for each attempt in ms, including its body. Default: 30,000; at most 2^31 - 1, 24 days. */
  timeoutMs?: number | undefined;
  /** Attempts after the first. Default: 4. */
  maxRetries?: number | undefined;
  /**
   * Requests in flight at the same time; further calls wait in a queue. Default: 5, which is the share of a partner unless the
   * operator changes it. Infinity removes the limit.
   */
  maxConcurrentRequests?: number | undefined;
  /** Sent with each request. */
  headers?: Readonly<Record<string, string>> | undefined;
  /** Default: the global `fetch`. */
  fetch?: typeof globalThis.fetch | undefined;
  /** Waits between attempts. Tests replace it. */
  sleep?: Sleep | undefined;
  /** Milliseconds of a clock that never goes back. Tests that replace `sleep` replace it too. Default: `performance.now`. */
  now?: (() => number) | undefined;
}

/** Options of one call. */
export interface RequestOptions {
  /** Cancels the call, including its retries and its time in the queue: it rejects with the signal's reason. */
  signal?: AbortSignal | undefined;
  /** Time for each attempt in ms. Time in the queue does not count; `signal` limits it. */
  timeoutMs?: number | undefined;
  /** Attempts after the first. */
  maxRetries?: number | undefined;
  headers?: Readonly<Record<string, string>> | undefined;
}

/** Options of a call that changes something. */
export interface ChangeOptions extends RequestOptions {
  /**
   * 1 to 255 visible ASCII characters. Default: the header `Idempotency-Key` in `headers`, else a random key, the same for all
   * attempts of the call.
   */
  idempotencyKey?: string | undefined;
}

export interface ApiResponse<Data> {
  data: Data;
  status: number;
  headers: Headers;
  requestId: string | null;
  /** How many times the request was sent. */
  attempts: number;
}

/** A promise of the answer's data. `withResponse` returns status and headers too. */
export class ApiCall<Data> implements PromiseLike<Data> {
  readonly #response: Promise<ApiResponse<Data>>;

  constructor(response: Promise<ApiResponse<Data>>) {
    this.#response = response;
  }

  withResponse(): Promise<ApiResponse<Data>> {
    return this.#response;
  }

  // This class is a promise, so that `await` returns the data.
  // oxlint-disable-next-line unicorn/no-thenable
  then<Result = Data, Failure = never>(
    onFulfilled?: ((data: Data) => Result | PromiseLike<Result>) | null,
    onRejected?: ((reason: unknown) => Failure | PromiseLike<Failure>) | null,
  ): Promise<Result | Failure> {
    return this.#response.then(({ data }) => data).then(onFulfilled, onRejected);
  }

  catch<Failure = never>(
    onRejected?: ((reason: unknown) => Failure | PromiseLike<Failure>) | null,
  ): Promise<Data | Failure> {
    return this.then(null, onRejected);
  }

  finally(onFinally?: (() => void) | null): Promise<Data> {
    return this.then((data) => data).finally(onFinally);
  }
}

const DEFAULT_MAX_CONCURRENT = 5;

/** In lower case, like all names of headers here. */
const KEY_HEADER = "idempotency-key";

/** The parts of a request that the operation has. */
export type Input<Name extends keyof Operations> = Part<Name, "path"> &
  Part<Name, "query"> &
  Part<Name, "body">;

type Part<
  Name extends keyof Operations,
  Key extends "path" | "query" | "body",
> = undefined extends Operations[Name][Key]
  ? { [key in Key]?: undefined }
  : {} extends Operations[Name][Key]
    ? { [key in Key]?: Operations[Name][Key] }
    : { [key in Key]: Operations[Name][Key] };

interface Attempt {
  url: string;
  init: RequestInit;
  timeoutMs: number;
  signal: AbortSignal | undefined;
}

export class Transport {
  readonly #baseUrl: string;
  readonly #options: ClientOptions;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #fetch: typeof globalThis.fetch;
  readonly #limiter: Limiter;
  readonly sleep: Sleep;

  constructor(options: ClientOptions) {
    this.#options = options;
    this.#baseUrl = toBaseUrl(options.baseUrl);
    // A variable of the environment that is not set is undefined. The key itself is never printed.
    if (typeof options.apiKey !== "string" || !/^[\x21-\x7e]+$/.test(options.apiKey))
      throw new WaymarkError("apiKey must be an API key of Waymark, without white space");
    this.#headers = {
      accept: "application/json",
      "x-api-key": options.apiKey,
      "user-agent": `waymark-client-typescript/${VERSION}`,
      ...lowerCased(options.headers),
    };
    // Browsers and workers need `fetch` called as a plain function.
    const { fetch = (...request: Parameters<typeof globalThis.fetch>) => globalThis.fetch(...request) } =
      options;
    this.#fetch = fetch;
    this.sleep = options.sleep ?? sleep;
    this.#limiter = new Limiter({
      maxConcurrentRequests: options.maxConcurrentRequests ?? DEFAULT_MAX_CONCURRENT,
      sleep: this.sleep,
      now: options.now ?? (() => performance.now()),
    });
  }

  /** Starts the operation `name`. */
  call<Name extends keyof Operations>(
    name: Name,
    input: Input<Name>,
    options: ChangeOptions & { ifMatch?: string | undefined; ifNoneMatch?: string | undefined } = {},
  ): ApiCall<Operations[Name]["data"]> {
    const spec: OperationSpec = operations[name];
    const { path = {}, query = {}, body } = input as { path?: Path; query?: Query; body?: unknown };
    const headers: Record<string, string> = { ...this.#headers, ...lowerCased(options.headers) };
    const ownKey = ownKeyOf({ ...options, headers });
    const key = spec.takesKey ? (ownKey ?? randomKey()) : undefined;
    if (body !== undefined) headers["content-type"] = "application/json";
    if (key !== undefined) headers[KEY_HEADER] = key;
    if (options.ifMatch !== undefined) headers["if-match"] = options.ifMatch;
    if (options.ifNoneMatch !== undefined) headers["if-none-match"] = options.ifNoneMatch;
    const send = async (): Promise<ApiResponse<Operations[Name]["data"]>> =>
      this.#sendWithRetries(
        {
          url: this.#baseUrl + fillPath(spec.path, path) + queryString(query),
          init: {
            method: spec.method,
            headers,
            redirect: "manual",
            ...(body !== undefined && { body: toJson(body) }),
          },
          timeoutMs: options.timeoutMs ?? this.#options.timeoutMs ?? 30_000,
          signal: options.signal,
        },
        {
          maxRetries: options.maxRetries ?? this.#options.maxRetries ?? 4,
          isRepeatable: !spec.changes || key !== undefined,
          isOwnKey: key !== undefined && ownKey !== undefined,
        },
      );
    return new ApiCall(send());
  }

  async #sendWithRetries<Data>(
    attempt: Attempt,
    { maxRetries, isRepeatable, isOwnKey }: { maxRetries: number; isRepeatable: boolean; isOwnKey: boolean },
  ): Promise<ApiResponse<Data>> {
    for (let attempts = 1; ; attempts += 1) {
      try {
        const answer = await this.#limiter.run(() => this.#send<Data>(attempt), attempt.signal);
        return { ...answer, attempts };
      } catch (error) {
        const mayBeInFlight = isRepeatable && (isOwnKey || attempts > 1);
        if (attempts > maxRetries || !isRetryable(error, { isRepeatable, mayBeInFlight })) throw error;
        await this.sleep(retryDelayMs(error, attempts, Math.random()), attempt.signal);
      }
    }
  }

  /** Sends one attempt. Throws an ApiError for any status but 2xx and 304. */
  async #send<Data>(attempt: Attempt): Promise<Omit<ApiResponse<Data>, "attempts">> {
    const { response, text } = await this.#exchange(attempt);
    const { status, headers } = response;
    const requestId = headers.get("x-request-id");
    if (status === 204 || status === 304) return { data: undefined as Data, status, headers, requestId };
    const body = parseJson(text);
    if (!response.ok) throw toApiError(response, body);
    if (typeof body !== "object" || body === null || !("data" in body))
      throw new ConnectionError(`The answer of ${attempt.url} is not from Waymark. Check baseUrl.`);
    return { data: body.data as Data, status, headers, requestId };
  }

  async #exchange({ url, init, timeoutMs, signal }: Attempt): Promise<{ response: Response; text: string }> {
    signal?.throwIfAborted();
    const controller = new AbortController();
    const abort = (): void => controller.abort();
    signal?.addEventListener("abort", abort, { once: true });
    const timer = setTimeout(abort, Math.min(timeoutMs, MAX_TIMER_MS));
    try {
      const response = await this.#fetch(url, { ...init, signal: controller.signal });
      return { response, text: await response.text() };
    } catch (cause) {
      signal?.throwIfAborted();
      if (controller.signal.aborted)
        throw new TimeoutError(`${init.method} ${url} had no answer within ${timeoutMs} ms`, { cause });
      throw new ConnectionError(`${init.method} ${url} failed: ${causeOf(cause)}`, { cause });
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", abort);
    }
  }
}

/** Node's fetch hides the reason in `cause`. */
function causeOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? error.cause.message || error.message : error.message;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Returns the caller's own Idempotency-Key in the options of a call. */
export function ownKeyOf({ idempotencyKey, headers }: ChangeOptions): string | undefined {
  return idempotencyKey ?? lowerCased(headers)[KEY_HEADER];
}

function lowerCased(headers: Readonly<Record<string, string>> = {}): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}

function randomKey(): string {
  // Only secure contexts have `randomUUID`, which is the fastest.
  if (typeof crypto.randomUUID === "function") return crypto.randomUUID();
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
