/** Limits the calls in flight per key, so that slow calls of one organisation cannot pile up. */
import { AppError } from "../errors.ts";
import { FairSemaphore } from "./semaphore.ts";

interface InFlightLimitOptions {
  /** Maximum calls of one key in flight. */
  max: number;
  /** The noun for the message: "test events". */
  noun: string;
  retryAfterS: number;
}

export class InFlightLimit {
  readonly #options: InFlightLimitOptions;
  readonly #calls: FairSemaphore;

  constructor(options: InFlightLimitOptions) {
    this.#options = options;
    this.#calls = new FairSemaphore({ permits: Infinity, permitsPerKey: options.max });
  }

  /** Runs `call`. Throws TooManyRequestsException immediately if `max` calls of the key are in flight. */
  async run<Result>(key: string, call: () => Promise<Result>): Promise<Result> {
    const { max, noun, retryAfterS } = this.#options;
    if (this.#calls.running(key) >= max)
      throw new AppError(
        "TooManyRequestsException",
        `${max} ${noun} of this organisation are in flight, which is the limit. Try again in ${retryAfterS} s.`,
        { headers: { "Retry-After": String(retryAfterS) } },
      );
    return await this.#calls.run(key, call);
  }
}
