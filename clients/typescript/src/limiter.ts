/** Bounds the requests of a client in flight, and shares the wait that the server asks for with all of them. */
import { ApiError, WaymarkError } from "./errors.ts";
import { MAX_RETRY_AFTER_S, type Sleep } from "./retry.ts";

/** The server tells a partner, not a request, to wait with these. */
const SHARED_WAIT_STATUSES = new Set([429, 503]);

export interface LimiterOptions {
  maxConcurrentRequests: number;
  sleep: Sleep;
  /** Milliseconds of a clock that never goes back. */
  now: () => number;
}

export class Limiter {
  readonly #options: LimiterOptions;
  #free: number;
  /** Functions that start the waiting requests, first come first served. */
  readonly #queue = new Set<() => void>();
  #pausedUntilMs = -Infinity;
  /** Each request waits for a random part of it in addition, so that they don't start together. */
  #spreadMs = 0;

  constructor(options: LimiterOptions) {
    const { maxConcurrentRequests: max } = options;
    if (!(max >= 1) || (!Number.isInteger(max) && max !== Infinity))
      throw new WaymarkError(
        `maxConcurrentRequests must be a whole number of at least 1, or Infinity, got ${String(max)}`,
      );
    this.#options = options;
    this.#free = max;
  }

  /** Runs `send` when fewer than the maximum are in flight and the server wants no wait. Rejects with the signal's reason if `signal` aborts before. */
  async run<Result>(send: () => Promise<Result>, signal: AbortSignal | undefined): Promise<Result> {
    await this.#takePermit(signal);
    try {
      await this.#waitForPause(signal);
      return await send();
    } catch (error) {
      // Before the permit is released: the next request must not start.
      this.#pauseAfter(error);
      throw error;
    } finally {
      this.#releasePermit();
    }
  }

  async #takePermit(signal: AbortSignal | undefined): Promise<void> {
    signal?.throwIfAborted();
    if (this.#free > 0) {
      this.#free -= 1;
      return;
    }
    await new Promise<void>((resolve, reject) => {
      const start = (): void => {
        signal?.removeEventListener("abort", leave);
        resolve();
      };
      const leave = (): void => {
        this.#queue.delete(start);
        reject(signal?.reason as Error);
      };
      this.#queue.add(start);
      signal?.addEventListener("abort", leave, { once: true });
    });
  }

  #releasePermit(): void {
    const [start] = this.#queue;
    if (!start) {
      this.#free += 1;
      return;
    }
    this.#queue.delete(start);
    start();
  }

  /** Waits again if another answer has extended the pause meanwhile. */
  async #waitForPause(signal: AbortSignal | undefined): Promise<void> {
    let waitedUntilMs = -Infinity;
    for (;;) {
      const untilMs = this.#pausedUntilMs;
      const leftMs = untilMs - this.#options.now();
      if (untilMs <= waitedUntilMs || leftMs <= 0) return;
      waitedUntilMs = untilMs;
      await this.#options.sleep(leftMs + Math.random() * this.#spreadMs, signal);
    }
  }

  #pauseAfter(error: unknown): void {
    if (!(error instanceof ApiError) || !SHARED_WAIT_STATUSES.has(error.status)) return;
    const { retryAfter } = error;
    if (retryAfter === null || retryAfter > MAX_RETRY_AFTER_S) return;
    const untilMs = this.#options.now() + retryAfter * 1_000;
    if (untilMs <= this.#pausedUntilMs) return;
    this.#pausedUntilMs = untilMs;
    this.#spreadMs = retryAfter * 200;
  }
}
