/** Decides which failed requests are sent again, and when. */
import { ApiError, ConnectionError } from "./errors.ts";

const FIRST_DELAY_MS = 500;
const MAX_DELAY_MS = 8_000;
/** A longer Retry-After is left to the caller. */
export const MAX_RETRY_AFTER_S = 60;
/** A proxy that answers with one of these may have passed the request on. */
const TRANSIENT_STATUSES = new Set([500, 502, 503, 504]);

export interface SentRequest {
  /** True if the server applies it at most once: it only reads, or has an Idempotency-Key. */
  isRepeatable: boolean;
  /** True if an earlier request with the same Idempotency-Key may still be in flight. */
  mayBeInFlight: boolean;
}

/** True if the request can succeed when it is sent again, and can't be applied twice by that. */
export function isRetryable(error: unknown, { isRepeatable, mayBeInFlight }: SentRequest): boolean {
  if (error instanceof ConnectionError) return isRepeatable;
  if (!(error instanceof ApiError)) return false;
  if ((error.retryAfter ?? 0) > MAX_RETRY_AFTER_S) return false;
  // A request over the rate limit was not processed.
  if (error.status === 429) return true;
  if (error.status === 409) return mayBeInFlight;
  return isRepeatable && TRANSIENT_STATUSES.has(error.status);
}

/** Returns the wait before the next attempt in ms, at least `Retry-After`. `attempt` counts from 1, `random` is in [0, 1). */
export function retryDelayMs(error: unknown, attempt: number, random: number): number {
  const longestMs = Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 2 ** (attempt - 1));
  const backoffMs = longestMs * (0.5 + random / 2);
  const retryAfterMs = error instanceof ApiError ? (error.retryAfter ?? 0) * 1_000 : 0;
  return Math.max(backoffMs, retryAfterMs * (1 + random / 5));
}

/** The longest wait of `setTimeout`. It ends a longer one at once. */
export const MAX_TIMER_MS = 2 ** 31 - 1;

/** Waits for `ms`. Rejects with the signal's reason when `signal` aborts. */
export type Sleep = (ms: number, signal?: AbortSignal) => Promise<void>;

export const sleep: Sleep = async (ms, signal) => {
  let leftMs = Math.ceil(ms);
  do {
    await startTimer(Math.min(leftMs, MAX_TIMER_MS), signal);
    leftMs -= MAX_TIMER_MS;
  } while (leftMs > 0);
};

const startTimer: Sleep = (ms, signal) =>
  new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(signal.reason as Error);
      return;
    }
    const stop = (): void => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, ms);
    signal?.addEventListener("abort", stop, { once: true });
  });
