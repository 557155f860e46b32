/** A background task at intervals: never two at once, never an end by an error, and a stop that waits for the one running. */
import type { Logger } from "../logger.ts";

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
        "a background task failed; it is tried again",
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
