/** Starts work at a steady average rate, independent of how long it takes, like many independent clients. */
import { setTimeout as pause } from "node:timers/promises";
import { exponentialGapMs } from "../random.ts";

export interface OpenLoop {
  /** Calls that were not started because too many were in flight. */
  readonly skipped: number;
  /** Resolves once all started work has ended. */
  stop(): Promise<void>;
}

const MAX_IN_FLIGHT = 200;

/** Starts `work` at the times of a Poisson process. `work` must not reject. */
export function startOpenLoop(perSecond: number, work: () => Promise<void>): OpenLoop {
  const stopping = new AbortController();
  const inFlight = new Set<Promise<void>>();
  let skipped = 0;
  const begin = (): void => {
    if (inFlight.size >= MAX_IN_FLIGHT) {
      skipped += 1;
      return;
    }
    const one = work().finally(() => inFlight.delete(one));
    inFlight.add(one);
  };
  const loop = async (): Promise<void> => {
    let dueMs = performance.now();
    while (!stopping.signal.aborted) {
      dueMs += exponentialGapMs(perSecond);
      const waitMs = dueMs - performance.now();
      if (waitMs > 0) await pause(waitMs, undefined, { signal: stopping.signal }).catch(() => undefined);
      if (!stopping.signal.aborted) begin();
    }
  };
  const running = loop();
  return {
    get skipped() {
      return skipped;
    },
    async stop() {
      stopping.abort();
      await running;
      await Promise.all(inFlight);
    },
  };
}
