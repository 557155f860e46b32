/** Background work that repeats at a fixed interval. */
import type { Logger } from "../logger.ts";

/** Returned by work that found nothing to do. */
export const IDLE = Symbol("idle");
const MAX_SKIPPED_RUNS = 5;

/**
 * Runs `work` every `intervalMs`, skipping a run while the previous one lasts. Each run in a row that returns `IDLE` skips one more
 * of the next runs, up to 5. Logs errors. Disposing waits for the current run.
 */
export function startIntervalTask(
  name: string,
  intervalMs: number,
  logger: Logger,
  work: () => Promise<unknown>,
): AsyncDisposable {
  let running: Promise<void> | null = null;
  let idleRuns = 0;
  let skips = 0;
  const run = async (): Promise<void> => {
    try {
      idleRuns = (await work()) === IDLE ? Math.min(idleRuns + 1, MAX_SKIPPED_RUNS) : 0;
      skips = idleRuns;
    } catch (error) {
      logger.warn(
        { task: name, error: error instanceof Error ? error.message : "unknown" },
        "a background task failed; it runs again at its next interval",
      );
    } finally {
      running = null;
    }
  };
  const timer = setInterval(() => {
    if (skips > 0) skips -= 1;
    else running ??= run();
  }, intervalMs);
  return {
    async [Symbol.asyncDispose]() {
      clearInterval(timer);
      await running;
    },
  };
}
