/** Work that goes on after its request has been answered: bounded, in order, never an end by an error, waited for at a stop. */
import { unavailable } from "./errors.ts";
import { withoutValues, type Logger } from "./logger.ts";

export interface Afterwards extends AsyncDisposable {
  /** Does `work` soon. Throws ServiceUnavailableException, before anything is answered, where too much waits already. */
  run(name: string, work: () => Promise<void>): void;
  /** Resolves when nothing waits. */
  drained(): Promise<void>;
}

const MAX_WAITING = 1_000;

export function createAfterwards(logger: Logger): Afterwards {
  let waiting = 0;
  let last: Promise<void> = Promise.resolve();

  const perform = async (name: string, work: () => Promise<void>): Promise<void> => {
    try {
      await work();
    } catch (error) {
      logger.error({ work: name, err: withoutValues(error) }, "what was to be done after an answer failed");
    } finally {
      waiting -= 1;
    }
  };

  return {
    run(name, work) {
      if (waiting >= MAX_WAITING) throw unavailable("The server is overloaded. Try again shortly.", 5);
      waiting += 1;
      last = last.then(() => perform(name, work));
    },
    drained: () => last,
    [Symbol.asyncDispose]: () => last,
  };
}
