/** Background work that repeats at a fixed interval. */
import type { Logger } from "../logger.ts";

/** Runs `work` every `intervalMs`, skipping a run while the previous one lasts. Logs errors. Disposing waits for the current run. */
export function startIntervalTask(
  name: string,
  intervalMs: number,
  logger: Logger,
  work: () => Promise<unknown>,
): AsyncDisposable {
  let running: Promise<void> | null = null;
  const run = async (): Promise<void> => {
    try {
      await work();
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
    running ??= run();
  }, intervalMs);
  return {
    async [Symbol.asyncDispose]() {
      clearInterval(timer);
      await running;
    },
  };
}
