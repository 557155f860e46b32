/** Limits the calls in flight per key, so that slow calls of one organisation cannot pile up. */
import { AppError } from "../errors.ts";

export interface InFlightLimitOptions {
  /** Maximum calls of one key in flight. */
  max: number;
  /** The noun for the message: "test events". */
  noun: string;
  retryAfterS: number;
}

export class InFlightLimit {
  readonly #options: InFlightLimitOptions;
  readonly #counts = new Map<string, number>();

  constructor(options: InFlightLimitOptions) {
    this.#options = options;
  }

  /** Runs `call`. Throws TooManyRequestsException immediately if `max` calls of the key are in flight. */
  async run<Result>(key: string, call: () => Promise<Result>): Promise<Result> {
    const count = this.#counts.get(key) ?? 0;
    if (count >= this.#options.max) throw this.#tooMany();
    this.#counts.set(key, count + 1);
    try {
      return await call();
    } finally {
      this.#end(key);
    }
  }

  #end(key: string): void {
    const left = (this.#counts.get(key) ?? 1) - 1;
    if (left === 0) this.#counts.delete(key);
    else this.#counts.set(key, left);
  }

  #tooMany(): AppError {
    const { max, noun, retryAfterS } = this.#options;
    return new AppError(
      "TooManyRequestsException",
      `${max} ${noun} of this organisation are in flight, which is the limit. Try again in ${retryAfterS} s.`,
      { headers: { "Retry-After": String(retryAfterS) } },
    );
  }
}
