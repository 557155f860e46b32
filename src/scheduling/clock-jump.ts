/** Noticing that somebody, or NTP, has set this computer's clock: what is kept by the time of day is then due at another time. */

/** Less is no jump: NTP's slow corrections, and the moment between the two readings. */
const JUMP_MS = 1_000;

/** Answers at each call by how many milliseconds the clock has been set since the last; 0: it has only gone on. */
export function createClockJumpDetector(): () => number {
  let before = clockOffsetMs();
  return () => {
    const now = clockOffsetMs();
    const jumpMs = now - before;
    before = now;
    return Math.abs(jumpMs) < JUMP_MS ? 0 : Math.round(jumpMs);
  };
}

/** Between the time of day and a clock that only goes on; it changes only where the former is set, or the computer slept. */
function clockOffsetMs(): number {
  return Date.now() - performance.now();
}
