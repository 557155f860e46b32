/** The circuit of one endpoint: when so much fails that attempts stop, and when a single one probes whether that is over. */

const STRAIGHT_FAILURES = 10;
const FAILED_SHARE = 0.7;
const LEAST_ATTEMPTS = 10;

const SLOT_MS = 10_000;
const SLOTS = 30; // of 10 s: five minutes

const FIRST_PROBE_MS = 30_000;
const LAST_PROBE_MS = 15 * 60_000;

/** How one endpoint's attempts went in the last five minutes, as this process saw them. */
export interface CircuitWindow {
  /** Counts an attempt that has ended; true where the circuit should now open. */
  record(succeeded: boolean, nowMs: number): boolean;
  /** Whether nothing has been counted in the last five minutes, so that it is as good as new. */
  isEmpty(nowMs: number): boolean;
  /** Forgets everything: the circuit has opened or closed. */
  reset(): void;
}

/** Counts by slots of ten seconds, so that an endpoint of any traffic costs the same few hundred bytes. */
export function createCircuitWindow(): CircuitWindow {
  const attempts = new Uint32Array(SLOTS);
  const failures = new Uint32Array(SLOTS);
  let [allAttempts, allFailures, straight, lastSlot] = [0, 0, 0, 0];

  const reset = (): void => {
    attempts.fill(0);
    failures.fill(0);
    allAttempts = allFailures = straight = 0;
  };

  const drop = (slot: number): void => {
    allAttempts -= attempts[slot] ?? 0;
    allFailures -= failures[slot] ?? 0;
    attempts[slot] = failures[slot] = 0;
  };

  const moveTo = (slot: number): void => {
    const passed = Math.min(SLOTS, slot - lastSlot);
    for (let step = 1; step <= passed; step += 1) drop((lastSlot + step) % SLOTS);
    // A clock that is set back goes on counting in the latest slot.
    lastSlot = Math.max(lastSlot, slot);
  };

  return {
    record(succeeded, nowMs) {
      moveTo(Math.floor(nowMs / SLOT_MS));
      const slot = lastSlot % SLOTS;
      attempts[slot] = (attempts[slot] ?? 0) + 1;
      allAttempts += 1;
      straight = succeeded ? 0 : straight + 1;
      if (succeeded) return false;
      failures[slot] = (failures[slot] ?? 0) + 1;
      allFailures += 1;
      const mostFailed = allAttempts >= LEAST_ATTEMPTS && allFailures >= FAILED_SHARE * allAttempts;
      return straight >= STRAIGHT_FAILURES || mostFailed;
    },
    isEmpty(nowMs) {
      moveTo(Math.floor(nowMs / SLOT_MS));
      return allAttempts === 0;
    },
    reset,
  };
}

/** How long the circuit waits for its probe number `step`, from 0: 30 s, then 1, 2, 4, 8 and always 15 minutes. */
export function probeDelayMs(step: number): number {
  return Math.min(LAST_PROBE_MS, FIRST_PROBE_MS * 2 ** step);
}
