/** A clock that only moves when a test advances it. */
import type { Clock } from "../../src/core/clock.ts";

export interface FakeClock extends Clock {
  advance(ms: number): void;
  /** Changes the time of day, forwards or backwards, without elapsed time. */
  jump(ms: number): void;
}

export { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from "../../src/core/time.ts";

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
