/** A serial queue for work that continues after its request was answered. At most 1,000 entries; disposing waits for all of them. */
import { unavailable } from "../errors.ts";
import { serializeError, type Logger } from "../logger.ts";

export type BackgroundQueue = ReturnType<typeof createBackgroundQueue>;

const MAX_PENDING = 1_000;

export function createBackgroundQueue(logger: Logger) {
  let pendingCount = 0;
  let lastRun: Promise<void> = Promise.resolve();
  return {
    /** Queues `work`; errors are logged. Throws ServiceUnavailableException if 1,000 entries are pending. */
    run(name: string, work: () => Promise<void>): void {
      if (pendingCount >= MAX_PENDING) throw unavailable("The server is overloaded. Try again shortly.", 5);
      pendingCount += 1;
      lastRun = lastRun
        .then(work)
        .catch((error: unknown) =>
          logger.error({ work: name, err: serializeError(error) }, "background work failed"),
        )
        .finally(() => (pendingCount -= 1));
    },
    [Symbol.asyncDispose]: (): Promise<void> => lastRun,
  };
}
