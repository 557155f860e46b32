/** Stores token buckets. `rate-limit.sql.ts` has the store in PostgreSQL. */
import type { Clock } from "../core/clock.ts";
import { TokenBucket, type TokenRate } from "../core/concurrency/token-bucket.ts";
import { MINUTE_MS } from "../core/time.ts";

/** `tokens`: the rest in the bucket, with fractions. */
export interface TakeResult {
  allowed: boolean;
  tokens: number;
}

export interface BucketRequest {
  readonly id: string;
  readonly limit: TokenRate;
}

export interface RateLimitStore {
  /**
   * Takes `count` tokens from each bucket, in order, up to the first one with too few: a rejected request must not use up the
   * limits after it. The buckets must differ. A negative `count` returns tokens. Returns a result for each bucket; `allowed` is true for buckets after
   * the rejecting one.
   */
  take(buckets: readonly BucketRequest[], count: number): Promise<TakeResult[]> | TakeResult[];
}

/** Buckets in this process's memory. A full bucket is deleted, as a new one would be equal. */
export function createMemoryStore(clock: Clock): RateLimitStore {
  const buckets = new Map<string, { bucket: TokenBucket; fullAtMs: number }>();
  let sweepAtMs = 0;

  const sweep = (nowMs: number): void => {
    if (nowMs < sweepAtMs) return;
    sweepAtMs = nowMs + MINUTE_MS;
    for (const [id, { fullAtMs }] of buckets) if (fullAtMs <= nowMs) buckets.delete(id);
  };

  const takeOne = ({ id, limit }: BucketRequest, count: number): TakeResult => {
    // Monotonic, so that changing the wall clock neither fills buckets nor stops refilling them.
    const nowMs = clock.elapsed();
    sweep(nowMs);
    const bucket = buckets.get(id)?.bucket ?? new TokenBucket(limit, nowMs);
    bucket.setRate(limit);
    const allowed = bucket.take(nowMs, count);
    buckets.set(id, { bucket, fullAtMs: nowMs + bucket.msUntil(limit.burst, nowMs) });
    return { allowed, tokens: bucket.available(nowMs) };
  };

  return {
    take(requests, count) {
      let isRejected = false;
      return requests.map((request) => {
        const result = takeOne(request, isRejected ? 0 : count);
        isRejected ||= !result.allowed;
        return result;
      });
    },
  };
}
