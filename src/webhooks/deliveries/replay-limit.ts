/** Limits bulk replays per partner and process, because creating an endpoint and replaying to it can be repeated. */
import type { Clock } from "../../core/clock.ts";
import { AppError } from "../../core/errors.ts";
import { InFlightLimit } from "../../core/concurrency/in-flight-limit.ts";
import { TokenBucket, type TokenRate } from "../../core/concurrency/token-bucket.ts";

/** Rate at which the replays of one partner may create deliveries. */
export const defaultReplayRate: TokenRate = { perSecond: 1_000, burst: 200_000 };

/** Reserves `count` deliveries before they are created; a negative count returns unused ones. Returns false at the limit. */
export type ReserveReplays = (count: number) => boolean;

export class ReplayLimit {
  readonly #clock: Clock;
  readonly #rate: TokenRate;
  readonly #inFlight = new InFlightLimit({ max: 2, noun: "replays", retryAfterS: 5 });
  readonly #buckets = new Map<string, TokenBucket>();

  constructor(clock: Clock, rate: TokenRate = defaultReplayRate) {
    this.#clock = clock;
    this.#rate = rate;
  }

  /**
   * Runs `replay`. Throws TooManyRequestsException if the partner runs two replays, or if its rate allows no delivery. A
   * replay that fails has used what it reserved.
   */
  run<Result>(partnerId: string, replay: (reserve: ReserveReplays) => Promise<Result>): Promise<Result> {
    const bucket = this.#bucketOf(partnerId);
    return this.#inFlight.run(partnerId, () => {
      let isFirst = true;
      return replay((count) => {
        const isReserved = bucket.take(this.#clock.elapsed(), count);
        if (!isReserved && isFirst) throw this.#limitExceeded(bucket, count);
        isFirst = false;
        return isReserved;
      });
    });
  }

  #bucketOf(partnerId: string): TokenBucket {
    const existing = this.#buckets.get(partnerId);
    if (existing) return existing;
    const bucket = new TokenBucket(this.#rate, this.#clock.elapsed());
    this.#buckets.set(partnerId, bucket);
    return bucket;
  }

  #limitExceeded(bucket: TokenBucket, count: number): AppError {
    const retryAfterS = Math.ceil(bucket.msUntil(count, this.#clock.elapsed()) / 1000);
    const { perSecond, burst } = this.#rate;
    return new AppError(
      "TooManyRequestsException",
      `An organisation can replay ${burst} deliveries, then ${perSecond} per second. Repeat the request in ${retryAfterS} s.`,
      { headers: { "Retry-After": String(retryAfterS) } },
    );
  }
}
