/** Waits for what happens asynchronously. The linter forbids `vi.waitFor` and `vi.waitUntil`, which give up after one second. */
import { inspect } from "node:util";
import { vi } from "vitest";

export interface EventuallyOptions {
  /** Ends a wait that hangs, before the time limit of a test. It is no expectation: a busy machine needs seconds. */
  timeoutMs?: number;
  /** Time between two calls of `poll`. */
  intervalMs?: number;
}

const TIMEOUT_MS = 60_000;
const INTERVAL_MS = 20;

/** Calls `poll` until it succeeds, and returns its result. After `timeoutMs` it rejects with the last error of `poll`. */
export async function eventually<T>(
  poll: () => T | Promise<T>,
  { timeoutMs = TIMEOUT_MS, intervalMs = INTERVAL_MS }: EventuallyOptions = {},
): Promise<T> {
  try {
    return await vi.waitFor(poll, { timeout: timeoutMs, interval: intervalMs });
  } catch (error) {
    throw isTimeout(error) ? timeoutError(poll, "its first call did not return") : error;
  }
}

/**
 * Calls `poll` until it returns a truthy value, and returns that. Rejects if `poll` throws; after `timeoutMs` with its last result.
 */
export async function eventuallyTruthy<T>(
  poll: () => T | Promise<T>,
  { timeoutMs = TIMEOUT_MS, intervalMs = INTERVAL_MS }: EventuallyOptions = {},
): Promise<Exclude<T, 0 | "" | false | null | undefined>> {
  let found = "its first call did not return";
  try {
    return await vi.waitUntil(
      async () => {
        const result = await poll();
        found = `it last returned ${inspect(result)}`;
        return result;
      },
      { timeout: timeoutMs, interval: intervalMs },
    );
  } catch (error) {
    throw isTimeout(error) ? timeoutError(poll, found) : error;
  }
}

const isTimeout = (error: unknown): boolean =>
  error instanceof Error && error.message.startsWith("Timed out in wait");

const timeoutError = (poll: () => unknown, found: string): Error =>
  new Error(`Waited too long for ${String(poll)}: ${found}`);
