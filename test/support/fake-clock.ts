/** A clock that only moves when a test advances it. */
import type { Clock } from "../../src/core/clock.ts";

export interface FakeClock extends Clock {
  advance(ms: number): void;
  /** Changes the time of day, forwards or backwards, without elapsed time. */
  jump(ms: number): void;
}

export const SECOND_MS = 1_000;
export const MINUTE_MS = 60 * SECOND_MS;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;

export function createFakeClock(startMs: number = Date.now()): FakeClock {
  let [nowMs, elapsedMs] = [startMs, 0];
  return {
    now: () => nowMs,
    elapsed: () => elapsedMs,
    advance(ms) {
      nowMs += ms;
      elapsedMs += ms;
    },
    jump(ms) {
      nowMs += ms;
    },
  };
}
