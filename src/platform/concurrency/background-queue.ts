/** Work that goes on after its request has been answered: bounded, in order, never an end by an error, waited for at a stop. */
import { unavailable } from "../errors.ts";
import { serializeError, type Logger } from "../logger.ts";

export interface BackgroundQueue extends AsyncDisposable {
  /** Does `work` soon. Throws ServiceUnavailableException, before anything is answered, where too much waits already. */
  run(name: string, work: () => Promise<void>): void;
  /** Resolves when nothing waits. */
  onIdle(): Promise<void>;
}

const MAX_PENDING = 1_000;

export function createBackgroundQueue(logger: Logger): BackgroundQueue {
  let pendingCount = 0;
  let lastRun: Promise<void> = Promise.resolve();

  const perform = async (name: string, work: () => Promise<void>): Promise<void> => {
    try {
      await work();
    } catch (error) {
      logger.error({ work: name, err: serializeError(error) }, "what was to be done after an answer failed");
    } finally {
      pendingCount -= 1;
    }
  };

  return {
    run(name, work) {
      if (pendingCount >= MAX_PENDING) throw unavailable("The server is overloaded. Try again shortly.", 5);
      pendingCount += 1;
      lastRun = lastRun.then(() => perform(name, work));
    },
    onIdle: () => lastRun,
    [Symbol.asyncDispose]: () => lastRun,
  };
}
