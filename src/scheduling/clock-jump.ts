/** Detects that the computer's clock was set, which changes when scheduled tasks are due. */

/** Smaller differences are ignored: gradual NTP corrections and the time between two readings. */
const JUMP_MS = 1_000;

/** The returned function returns by how many milliseconds the clock was set since the last call; 0 if it was not. */
export function createClockJumpDetector(): () => number {
  let previous = clockOffsetMs();
  return () => {
    const current = clockOffsetMs();
    const jumpMs = current - previous;
    previous = current;
    return Math.abs(jumpMs) < JUMP_MS ? 0 : Math.round(jumpMs);
  };
}

/** Wall clock minus monotonic clock. It changes only if the wall clock is set or the computer slept. */
function clockOffsetMs(): number {
  return Date.now() - performance.now();
}
