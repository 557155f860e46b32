/** Waits for what happens asynchronously. The linter forbids `vi.waitFor` and `vi.waitUntil`, which give up after one second. */
import { vi } from "vitest";

export interface EventuallyOptions {
  /** Ends a wait that hangs, before the time limit of most tests. It is no expectation: a busy machine needs seconds. */
  timeoutMs?: number;
  /** Time between two calls of `poll`. */
  intervalMs?: number;
}

const TIMEOUT_MS = 25_000;
const INTERVAL_MS = 20;

/** Calls `poll` until it succeeds, and returns its result. After `timeoutMs` it rejects with the last error of `poll`. */
export function eventually<T>(
  poll: () => T | Promise<T>,
  { timeoutMs = TIMEOUT_MS, intervalMs = INTERVAL_MS }: EventuallyOptions = {},
): Promise<T> {
  return vi.waitFor(poll, { timeout: timeoutMs, interval: intervalMs });
}

/** Calls `poll` until it returns a truthy value, and returns that. Rejects if `poll` throws, and after `timeoutMs`. */
export function eventuallyTruthy<T>(
  poll: () => T | Promise<T>,
  { timeoutMs = TIMEOUT_MS, intervalMs = INTERVAL_MS }: EventuallyOptions = {},
): Promise<Exclude<T, 0 | "" | false | null | undefined>> {
  return vi.waitUntil(poll, { timeout: timeoutMs, interval: intervalMs });
}
