/** Work begun at a steady rate whatever it takes, as callers come who do not know of each other. */
import { setTimeout as pause } from "node:timers/promises";

export interface OpenLoop {
  /** Begun too late, or not at all, for there was too much under way already. */
  readonly skipped: number;
  /** Resolves once what was begun has ended. */
  stop(): Promise<void>;
}

const MAX_IN_FLIGHT = 200;

/** `work` must not reject. */
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

/** Between two that come by chance, so many a second. */
function exponentialGapMs(perSecond: number): number {
  return (-Math.log(1 - Math.random()) / perSecond) * 1_000;
}
