/** Limits the entries of one partner in the request log, so that they don't fill the database or displace entries of others. */
import { TokenBucket } from "../core/concurrency/token-bucket.ts";

const MAX_QUEUED_REQUESTS = 20_000;
/** Limits the memory used by bodies. */
const MAX_QUEUED_BODIES = 2_000;
/** One partner's part of both. */
const SHARE = 0.5;
/** Its rate limits do not bound requests that they reject. */
const REJECTED_RATE = { perSecond: 1, burst: 100 };
/** A failed request with its bodies takes 4 KiB. */
const BODY_RATE = { perSecond: 1, burst: 1_000 };
/** Partners whose rates are in memory. */
const MAX_PARTNERS = 10_000;

/** How to log a request. One that is not logged is counted. */
export interface LogDecision {
  readonly isLogged: boolean;
  readonly hasBodies: boolean;
}

interface QueuedEntry {
  readonly partnerId: string;
  readonly requestBody: string | null;
  readonly responseBody: string | null;
}

export class LogBudget {
  readonly #queued = new Tally(MAX_QUEUED_REQUESTS);
  readonly #queuedBodies = new Tally(MAX_QUEUED_BODIES);
  readonly #rates = new Map<string, { rejected: TokenBucket; bodies: TokenBucket }>();

  /** Returns how to log a request, or null if it must be dropped. */
  decide(partnerId: string, status: number, nowMs: number): LogDecision | null {
    if (!this.#queued.hasRoom(partnerId)) return null;
    if (status < 400) return { isLogged: true, hasBodies: false };
    const { rejected, bodies } = this.#ratesOf(partnerId, nowMs);
    const isLogged = status !== 429 || rejected.take(nowMs);
    return { isLogged, hasBodies: isLogged && this.#queuedBodies.hasRoom(partnerId) && bodies.take(nowMs) };
  }

  onQueued(entry: QueuedEntry): void {
    this.#queued.add(entry.partnerId, 1);
    if (hasBody(entry)) this.#queuedBodies.add(entry.partnerId, 1);
  }

  onWritten(entry: QueuedEntry): void {
    this.#queued.add(entry.partnerId, -1);
    if (hasBody(entry)) this.#queuedBodies.add(entry.partnerId, -1);
  }

  #ratesOf(partnerId: string, nowMs: number): { rejected: TokenBucket; bodies: TokenBucket } {
    const known = this.#rates.get(partnerId);
    if (known) return known;
    if (this.#rates.size >= MAX_PARTNERS) this.#rates.clear();
    const rates = {
      rejected: new TokenBucket(REJECTED_RATE, nowMs),
      bodies: new TokenBucket(BODY_RATE, nowMs),
    };
    this.#rates.set(partnerId, rates);
    return rates;
  }
}

/** Counts in total and per partner. */
class Tally {
  readonly #max: number;
  readonly #byPartner = new Map<string, number>();
  #total = 0;

  constructor(max: number) {
    this.#max = max;
  }

  hasRoom(partnerId: string): boolean {
    return this.#total < this.#max && (this.#byPartner.get(partnerId) ?? 0) < this.#max * SHARE;
  }

  add(partnerId: string, change: number): void {
    this.#total += change;
    const count = (this.#byPartner.get(partnerId) ?? 0) + change;
    if (count > 0) this.#byPartner.set(partnerId, count);
    else this.#byPartner.delete(partnerId);
  }
}

function hasBody({ requestBody, responseBody }: QueuedEntry): boolean {
  return requestBody !== null || responseBody !== null;
}
