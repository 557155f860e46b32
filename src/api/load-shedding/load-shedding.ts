/**
 * Load shedding: rejects requests that cannot be answered in time, before their credentials and bodies are read.
 * See docs/decisions/0063-fixed-limit-of-requests-in-flight.md.
 */
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { hasBody } from "../json.ts";
import { type CountedResponse, IN_FLIGHT } from "./counted-response.ts";
import { LoadSheddingMetrics, type LoadSheddingMetricsDeps } from "./metrics.ts";
import { createRejectionHandler, type RejectionDeps } from "./rejection.ts";

export interface LoadSheddingDeps extends RejectionDeps, LoadSheddingMetricsDeps {
  /** Number of connections to PostgreSQL. */
  poolSize: number;
}

/** In a short burst, requests in flight per connection to PostgreSQL. During an overload it is one. */
const BURST_PER_CONNECTION = 20;
/** Enough to keep the process and PostgreSQL busy. */
const MIN_LIMIT = 4;

/** Wraps `handler`: requests that it could not answer in time get 503. */
export function withLoadShedding(handler: RequestListener, deps: LoadSheddingDeps): RequestListener {
  const limit = new ConcurrencyLimit({
    sustained: Math.max(deps.poolSize, MIN_LIMIT),
    burst: deps.poolSize * BURST_PER_CONNECTION,
  });
  const inFlight = new InFlightRequests(limit);
  const metrics = new LoadSheddingMetrics(limit, deps);
  const reject = createRejectionHandler(deps);

  return (request, response) => {
    if (isExempt(request)) {
      handler(request, response);
      return;
    }
    const nowMs = performance.now();
    limit.endIfRecovered(nowMs);
    if (limit.isBurstTooLong(nowMs)) {
      inFlight.evictIdle(nowMs);
      if (limit.isBurstTooLong(nowMs)) limit.onOverload(nowMs);
    }
    if (metrics.isOverloadLogged) metrics.logIfOver(nowMs);
    if (inFlight.hasCapacity(nowMs)) {
      inFlight.add(request, response, nowMs);
      handler(request, response);
    } else {
      limit.onOverload(nowMs);
      metrics.onReject(nowMs);
      reject(request, response);
    }
  };
}

/** Operators need these most during an overload. They are cheap, because concurrent requests share one result. */
const EXEMPT_PATHS: ReadonlySet<string> = new Set(["/health/live", "/health/ready", "/metrics"]);

function isExempt({ url = "" }: IncomingMessage): boolean {
  const queryStart = url.indexOf("?");
  return EXEMPT_PATHS.has(queryStart === -1 ? url : url.slice(0, queryStart));
}

/** An overload begins when the sustained limit was exceeded for this long without a break, or the burst limit was reached. */
const BURST_MS = 300;
/** An overload ends when no request was rejected for this long. */
const RECOVERED_AFTER_MS = 1_000;

/** The limit of requests in flight. A burst may exceed it for a moment, because an idle server answers a burst quickly. */
export class ConcurrencyLimit {
  /** Maximum requests in flight during an overload. */
  readonly #sustained: number;
  /** Maximum requests in flight otherwise. */
  readonly #burst: number;
  #inFlight = 0;
  /** Since when more requests than the sustained limit are in flight; null if they are not. */
  #exceededSinceMs: number | null = null;
  #lastRejectedMs = 0;
  #isOverloaded = false;

  constructor({ sustained, burst }: { sustained: number; burst: number }) {
    this.#sustained = sustained;
    this.#burst = burst;
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  get limit(): number {
    return this.#isOverloaded ? this.#sustained : this.#burst;
  }

  get isOverloaded(): boolean {
    return this.#isOverloaded;
  }

  get hasCapacity(): boolean {
    return this.#inFlight < this.limit;
  }

  /** True if an overload should begin, because a burst lasts too long. */
  isBurstTooLong(nowMs: number): boolean {
    return !this.#isOverloaded && this.#exceededSinceMs !== null && nowMs - this.#exceededSinceMs >= BURST_MS;
  }

  /** Ends the overload if no request was rejected lately. Call it for every request: there is no timer. */
  endIfRecovered(nowMs: number): void {
    if (this.#isOverloaded && nowMs - this.#lastRejectedMs >= RECOVERED_AFTER_MS) this.#isOverloaded = false;
  }

  onStart(nowMs: number): void {
    this.#inFlight += 1;
    if (this.#inFlight > this.#sustained) this.#exceededSinceMs ??= nowMs;
  }

  /** The request finished or waits for its client. */
  onRelease(): void {
    this.#inFlight -= 1;
    if (this.#inFlight <= this.#sustained) this.#exceededSinceMs = null;
  }

  /** Begins the overload, or prolongs it. Call it for each rejected request. */
  onOverload(nowMs: number): void {
    this.#isOverloaded = true;
    this.#lastRejectedMs = nowMs;
  }
}

interface InFlightRequest {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Index in `#requests`. */
  readonly index: number;
  startedMs: number;
  /** False while the client has to send the rest of the body or to read the response. */
  isCounted: boolean;
  /** Answered, or the client disconnected. */
  isFinished: boolean;
}

/** A response that is still being sent after this time waits for its client. */
const CLIENT_WAIT_AFTER_MS = 100;
/** Minimum time between two searches for requests that wait for their clients. */
const EVICT_INTERVAL_MS = 10;

/** The requests in flight. A request counts while it waits for the server, and not while it waits for its client. */
export class InFlightRequests {
  readonly #limit: ConcurrencyLimit;
  /** Not a Set: tables discarded by a growing Set would keep their requests alive in minor garbage collections. */
  readonly #requests: (InFlightRequest | null)[] = [];
  readonly #freeIndexes: number[] = [];
  #evictedMs = 0;

  constructor(limit: ConcurrencyLimit) {
    this.#limit = limit;
  }

  /** True if a further request may be handled. */
  hasCapacity(nowMs: number): boolean {
    if (!this.#limit.hasCapacity && nowMs - this.#evictedMs >= EVICT_INTERVAL_MS) this.evictIdle(nowMs);
    return this.#limit.hasCapacity;
  }

  add(request: IncomingMessage, response: CountedResponse, nowMs: number): void {
    const index = this.#freeIndexes.pop() ?? this.#requests.length;
    const state = { startedMs: nowMs, isCounted: true, isFinished: false };
    const inFlight: InFlightRequest = { request, response, index, ...state };
    this.#requests[index] = inFlight;
    response[IN_FLIGHT] = { withoutCounting: (call) => this.#withoutCounting(inFlight, call) };
    this.#count(inFlight);
    // Some handlers never read the body.
    if (hasBody(request)) request.once("resume", () => this.#awaitBody(inFlight));
    // The time that the client takes to read the response does not count.
    response.once("prefinish", () => this.#finish(inFlight));
    response.once("close", () => this.#remove(inFlight));
  }

  async #withoutCounting<Result>(inFlight: InFlightRequest, call: () => Promise<Result>): Promise<Result> {
    // It is not counted already, because of another call.
    if (!inFlight.isCounted) return await call();
    this.#uncount(inFlight);
    try {
      return await call();
    } finally {
      this.#resume(inFlight);
    }
  }

  /** Stops counting requests that wait for slow clients. */
  evictIdle(nowMs: number): void {
    this.#evictedMs = nowMs;
    for (const inFlight of this.#requests) {
      if (!inFlight) continue;
      const { request, response, startedMs, isCounted } = inFlight;
      // Responses queued on a destroyed connection emit no event.
      if (request.socket.destroyed) this.#remove(inFlight);
      else if (isCounted && isWaitingForClient(response, nowMs - startedMs)) this.#uncount(inFlight);
    }
  }

  /**
   * A body sent together with its headers has arrived two event loop turns after the handler starts to read it. For any
   * other body, the request waits for its client and counts again once the body has arrived.
   */
  #awaitBody(inFlight: InFlightRequest): void {
    const { request } = inFlight;
    if (request.complete) return;
    setImmediate(() => {
      if (request.complete) return;
      setImmediate(() => {
        if (request.complete || inFlight.isFinished) return;
        this.#uncount(inFlight);
        request.once("end", () => this.#resume(inFlight));
      });
    });
  }

  #resume(inFlight: InFlightRequest): void {
    if (inFlight.isFinished) return;
    inFlight.startedMs = performance.now();
    inFlight.isCounted = true;
    this.#count(inFlight);
  }

  #finish(inFlight: InFlightRequest): void {
    inFlight.isFinished = true;
    this.#uncount(inFlight);
  }

  /** The response was sent, or its connection is closed. */
  #remove(inFlight: InFlightRequest): void {
    this.#finish(inFlight);
    if (this.#requests[inFlight.index] !== inFlight) return;
    this.#requests[inFlight.index] = null;
    this.#freeIndexes.push(inFlight.index);
  }

  #count({ startedMs }: InFlightRequest): void {
    this.#limit.onStart(startedMs);
  }

  #uncount(inFlight: InFlightRequest): void {
    if (!inFlight.isCounted) return;
    inFlight.isCounted = false;
    this.#limit.onRelease();
  }
}

/** True if the response is queued behind others of its connection, or has been sending for long. */
function isWaitingForClient({ writableEnded, headersSent }: ServerResponse, durationMs: number): boolean {
  return writableEnded || (headersSent && durationMs >= CLIENT_WAIT_AFTER_MS);
}
