/** Limits on replays of many deliveries, by organisation and process: creating an endpoint and replaying to it can be repeated. */
import type { Clock } from "../../platform/clock.ts";
import { AppError } from "../../platform/errors.ts";
import { InFlightLimit } from "../../platform/concurrency/in-flight-limit.ts";
import {
  createTokenBucket,
  type TokenBucket,
  type TokenRate,
} from "../../platform/concurrency/token-bucket.ts";

/** Deliveries that replays of one organisation may create. */
export const defaultReplayRate: TokenRate = { perSecond: 1_000, burst: 200_000 };

/** Takes `count` deliveries before they are created, or gives back (below zero) what was not needed. */
export type ReserveReplays = (count: number, replayed: number) => void;

export class ReplayLimit {
  readonly #clock: Clock;
  readonly #rate: TokenRate;
  readonly #inFlight = new InFlightLimit({ max: 2, noun: "replays", retryAfterS: 5 });
  readonly #buckets = new Map<string, TokenBucket>();

  constructor(clock: Clock, rate: TokenRate = defaultReplayRate) {
    this.#clock = clock;
    this.#rate = rate;
  }

  /** Runs `replay`. Throws TooManyRequestsException where two of the organisation run, or no deliveries are left. */
  run(organizationId: string, replay: (take: ReserveReplays) => Promise<number>): Promise<number> {
    const bucket = this.#bucketOf(organizationId);
    return this.#inFlight.run(organizationId, () =>
      replay((count, replayed) => {
        if (!bucket.take(this.#clock.elapsed(), count))
          throw this.#limitExceeded(bucket, { count, replayed });
      }),
    );
  }

  #bucketOf(organizationId: string): TokenBucket {
    const known = this.#buckets.get(organizationId);
    if (known) return known;
    const bucket = createTokenBucket(this.#rate, this.#clock.elapsed());
    this.#buckets.set(organizationId, bucket);
    return bucket;
  }

  #limitExceeded(bucket: TokenBucket, { count, replayed }: { count: number; replayed: number }): AppError {
    const retryAfterS = Math.ceil(bucket.msUntil(count, this.#clock.elapsed()) / 1000);
    const { perSecond, burst } = this.#rate;
    const done = replayed === 0 ? "" : `${replayed} deliveries were replayed. `;
    return new AppError(
      "TooManyRequestsException",
      `${done}An organisation replays at most ${burst} deliveries at once and then ${perSecond} a second. Repeat the request in ${retryAfterS} s to replay the rest.`,
      { headers: { "Retry-After": String(retryAfterS) } },
    );
  }
}
