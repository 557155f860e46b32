/**
 * The limit of requests in flight, beyond which they are rejected before their credentials and bodies are read, and the share of each
 * partner. See docs/decisions/0063-fixed-limit-of-requests-in-flight.md and 0077-a-share-of-connections-per-partner.md.
 */
import type { ServerResponse } from "node:http";
import { Counter, Gauge, type Registry } from "prom-client";
import { FairSemaphore } from "../core/concurrency/semaphore.ts";
import { AppError, unavailable } from "../core/errors.ts";

/** In a short burst, requests in flight per connection of a pool. */
const BURST_PER_CONNECTION = 20;
/** During an overload. REST and GraphQL have a pool each: one partner can use half of both, and others need the rest. */
const SUSTAINED_PER_CONNECTION = 2;
/** An overload begins when the lower limit was exceeded for this long, or the higher one was reached. */
const BURST_MS = 300;
/** An overload ends when no request was rejected for this long. */
const RECOVERED_AFTER_MS = 1_000;

/** Connections that requests leave to background tasks. */
const RESERVED_CONNECTIONS = 2;
/** Changes of many jobs of one partner. They lock many rows, so more of them mostly wait for each other. */
const BULK_PER_PARTNER = 2;
/** Requests of one partner that wait for its share; further ones get 429. */
export const MAX_WAITING = 100;
/** A request that waited longer for its share gets 503: the others may be slow because PostgreSQL is. */
const MAX_WAIT_MS = 5_000;

/** `bulk`: changes many jobs. `query`: a GraphQL query, which uses a separate pool. `request`: all others. */
export type ShareKind = "request" | "bulk" | "query";

/** With different times, so that rejected clients don't all retry together. Created once: the stack costs a third of a rejection. */
const overloaded = [1, 2, 3].map((afterS) =>
  unavailable("The server is overloaded. Try again shortly.", afterS),
);

interface InFlightOptions {
  /** Number of connections of each pool. */
  readonly poolSize: number;
  /** False: no request is rejected for the number of all. */
  readonly isLimited: boolean;
  readonly registry: Registry;
}

/** The permit of a request, of which its partner has a limited number. */
interface Permit {
  readonly semaphore: FairSemaphore;
  /** The partner. All operators have one share. */
  readonly key: string;
}

export class InFlight {
  readonly #sustained: number;
  readonly #burst: number;
  /** Those that count, by their response. */
  readonly #counted = new Set<ServerResponse>();
  /** Since when more requests than the sustained limit are in flight. */
  #exceededSinceMs = Infinity;
  #rejectedMs = -Infinity;
  readonly #rejections: Counter;
  readonly #requests: FairSemaphore;
  readonly #queries: FairSemaphore;
  readonly #bulk = new FairSemaphore({ permits: Infinity, permitsPerKey: BULK_PER_PARTNER });
  /** Of requests in their share. */
  readonly #permits = new WeakMap<ServerResponse, Permit>();

  constructor({ poolSize, isLimited, registry }: InFlightOptions) {
    this.#sustained = isLimited ? poolSize * SUSTAINED_PER_CONNECTION : Infinity;
    this.#burst = isLimited ? poolSize * BURST_PER_CONNECTION : Infinity;
    const permits = Math.max(poolSize - RESERVED_CONNECTIONS, 1);
    const permitsPerKey = Math.max(Math.floor(poolSize / 2), 1);
    // A partner with no other request need not wait for those of the others.
    const share = { permits, permitsPerKey, reserved: Math.floor(permits / 4) };
    this.#requests = new FairSemaphore(share);
    this.#queries = new FairSemaphore(share);
    this.#rejections = this.#registerMetrics(registry);
  }

  /** Counts a request until its response ends. Throws ServiceUnavailableException beyond the limit. */
  enter(response: ServerResponse): void {
    if (!this.#hasRoom()) {
      this.#rejectedMs = performance.now();
      this.#rejections.inc();
      throw overloaded[Math.floor(Math.random() * overloaded.length)] as AppError;
    }
    this.#count(response);
    response.once("close", () => this.#uncount(response));
  }

  /**
   * Runs `work` of a request once the share of its partner (UUID; null for operators) allows it. Instead throws
   * TooManyRequestsException if too many requests of the partner wait, and ServiceUnavailableException if this one waited too long.
   */
  async inShare<T>(
    response: ServerResponse,
    { partnerId, kind }: { partnerId: string | null; kind: ShareKind },
    work: () => Promise<T>,
  ): Promise<T> {
    const key = partnerId ?? "operators";
    const permit = { semaphore: kind === "query" ? this.#queries : this.#requests, key };
    const runInShare = (): Promise<T> =>
      this.#withPermit(response, permit, () => {
        this.#permits.set(response, permit);
        return work();
      });
    if (kind !== "bulk") return await runInShare();
    return await this.#withPermit(response, { semaphore: this.#bulk, key }, runInShare);
  }

  /** Runs `call`, which needs no connection to PostgreSQL. The request does not count meanwhile, and lends its share. */
  async duringExternalCall<T>(response: ServerResponse, call: () => Promise<T>): Promise<T> {
    const permit = this.#permits.get(response);
    permit?.semaphore.release(permit.key);
    try {
      return await this.#withoutCounting(response, call);
    } finally {
      // Never refused: the call may have had an effect.
      if (permit) await this.#take(response, permit);
    }
  }

  /** At the limit, requests that wait for their clients no longer count. */
  #hasRoom(): boolean {
    if (this.#counted.size < this.#limit()) return true;
    for (const response of this.#counted) if (isWaitingForClient(response)) this.#uncount(response);
    return this.#counted.size < this.#limit();
  }

  /** A burst may exceed the sustained limit for a moment, because an idle server answers it quickly. */
  #limit(): number {
    const nowMs = performance.now();
    const isBurstTooLong = nowMs - this.#exceededSinceMs >= BURST_MS;
    return isBurstTooLong || nowMs - this.#rejectedMs < RECOVERED_AFTER_MS ? this.#sustained : this.#burst;
  }

  #count(response: ServerResponse): void {
    this.#counted.add(response);
    if (this.#counted.size > this.#sustained)
      this.#exceededSinceMs = Math.min(this.#exceededSinceMs, performance.now());
  }

  /** Returns false if it did not count. */
  #uncount(response: ServerResponse): boolean {
    const wasCounted = this.#counted.delete(response);
    if (this.#counted.size <= this.#sustained) this.#exceededSinceMs = Infinity;
    return wasCounted;
  }

  async #withoutCounting<T>(response: ServerResponse, call: () => Promise<T>): Promise<T> {
    const wasCounted = this.#uncount(response);
    try {
      return await call();
    } finally {
      if (wasCounted && !response.writableEnded && !response.destroyed) this.#count(response);
    }
  }

  async #withPermit<T>(response: ServerResponse, permit: Permit, work: () => Promise<T>): Promise<T> {
    const { semaphore, key } = permit;
    if (semaphore.waiting(key) >= MAX_WAITING) throw tooManyRequests();
    const startedMs = performance.now();
    await this.#take(response, permit);
    try {
      if (performance.now() - startedMs >= MAX_WAIT_MS)
        throw unavailable("Other requests of your organisation take too long. Try again in 1 s.", 1);
      return await work();
    } finally {
      semaphore.release(key);
    }
  }

  /** A request that waits while others of its partner are in progress does not count, so it cannot begin an overload. */
  async #take(response: ServerResponse, { semaphore, key }: Permit): Promise<void> {
    const waitsForItself = semaphore.running(key) > 0;
    const turn = semaphore.acquire(key);
    if (turn) await (waitsForItself ? this.#withoutCounting(response, () => turn) : turn);
  }

  #registerMetrics(registry: Registry): Counter {
    const registers = [registry];
    const limit: Gauge = new Gauge({
      name: "waymark_http_concurrency_limit",
      help: "Current limit of requests in flight",
      registers,
      collect: () => limit.set(this.#limit()),
    });
    const inUse: Gauge = new Gauge({
      name: "waymark_http_concurrency_in_use",
      help: "Requests in flight, except those waiting for their clients",
      registers,
      collect: () => inUse.set([...this.#counted].filter((each) => !isWaitingForClient(each)).length),
    });
    return new Counter({
      name: "waymark_http_requests_shed_total",
      help: "Requests rejected with 503 because the server was overloaded",
      registers,
    });
  }
}

/** True while the client has to send the rest of the body or to read the response. A few dozen of these must not block the server. */
function isWaitingForClient({ req, headersSent }: ServerResponse): boolean {
  // Responses queued on a destroyed connection emit no event.
  return headersSent || !req.complete || req.socket.destroyed;
}

function tooManyRequests(): AppError {
  return new AppError(
    "TooManyRequestsException",
    "Too many requests of your organisation are in progress. Send fewer at the same time. Try again in 1 s.",
    { headers: { "Retry-After": "1" } },
  );
}
