/** The circuit breaker of one endpoint: when it opens, and when a probe is sent. */

const MAX_CONSECUTIVE_FAILURES = 10;
const MAX_FAILURE_RATIO = 0.7;
const MIN_ATTEMPTS = 10;

const SLOT_MS = 10_000;
const SLOT_COUNT = 30; // of 10 s: five minutes

const MIN_PROBE_DELAY_MS = 30_000;
const MAX_PROBE_DELAY_MS = 15 * 60_000;

/** Counts one endpoint's attempts of the last five minutes in this process. */
export interface CircuitWindow {
  /** Counts a finished attempt. Returns true if the circuit should open. */
  record(succeeded: boolean, nowMs: number): boolean;
  /** True if nothing was counted in the last five minutes. */
  isEmpty(nowMs: number): boolean;
  /** Clears the counts after the circuit has opened or closed. */
  reset(): void;
}

/** Counts in slots of ten seconds, so that the memory does not depend on the traffic. */
export function createCircuitWindow(): CircuitWindow {
  const attempts = new Uint32Array(SLOT_COUNT);
  const failures = new Uint32Array(SLOT_COUNT);
  let [totalAttempts, totalFailures, consecutiveFailures, currentSlot] = [0, 0, 0, 0];

  const reset = (): void => {
    attempts.fill(0);
    failures.fill(0);
    totalAttempts = totalFailures = consecutiveFailures = 0;
  };

  const clearSlot = (slot: number): void => {
    totalAttempts -= attempts[slot] ?? 0;
    totalFailures -= failures[slot] ?? 0;
    attempts[slot] = failures[slot] = 0;
  };

  const advanceTo = (slot: number): void => {
    const elapsedSlots = Math.min(SLOT_COUNT, slot - currentSlot);
    for (let step = 1; step <= elapsedSlots; step += 1) clearSlot((currentSlot + step) % SLOT_COUNT);
    // If the clock was set back, keep counting in the latest slot.
    currentSlot = Math.max(currentSlot, slot);
  };

  return {
    record(succeeded, nowMs) {
      advanceTo(Math.floor(nowMs / SLOT_MS));
      const slot = currentSlot % SLOT_COUNT;
      attempts[slot] = (attempts[slot] ?? 0) + 1;
      totalAttempts += 1;
      consecutiveFailures = succeeded ? 0 : consecutiveFailures + 1;
      if (succeeded) return false;
      failures[slot] = (failures[slot] ?? 0) + 1;
      totalFailures += 1;
      const isRatioExceeded =
        totalAttempts >= MIN_ATTEMPTS && totalFailures >= MAX_FAILURE_RATIO * totalAttempts;
      return consecutiveFailures >= MAX_CONSECUTIVE_FAILURES || isRatioExceeded;
    },
    isEmpty(nowMs) {
      advanceTo(Math.floor(nowMs / SLOT_MS));
      return totalAttempts === 0;
    },
    reset,
  };
}

/** The delay before probe number `step`, counted from 0: 30 s, then 1, 2, 4, 8 and 15 minutes. */
export function probeDelayMs(step: number): number {
  return Math.min(MAX_PROBE_DELAY_MS, MIN_PROBE_DELAY_MS * 2 ** step);
}
