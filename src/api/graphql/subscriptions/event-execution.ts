/** Starts a checked subscription, and executes it for each event. */
import { createSourceEventStream, execute, type ExecutionArgs, type ExecutionResult } from "graphql";
import { isCancelled } from "../../../core/postgres/errors.ts";
import { isUnavailable } from "../../../core/errors.ts";
import type { Semaphore } from "../../../core/concurrency/semaphore.ts";

export interface SubscriptionRun<Context> {
  /** Ends the subscription. */
  readonly signal: AbortSignal;
  /** Creates the context of one event, with empty data loaders. */
  makeContext(): Context;
  /** Limits concurrent executions. */
  readonly semaphore: Semaphore;
  /** Called before each event. False ends the subscription. */
  isAuthorized(): Promise<boolean>;
  onStart(): void;
  onEnd(): void;
  /** Called if the subscription failed or could not start. Errors thrown by it are sent to the client. */
  onFailure(error: unknown): void;
}

/** The results of a subscription. They contain all events after `cursor`, a cursor of the `events` query. */
export type SubscriptionResults = AsyncGenerator<ExecutionResult, void, void> & {
  readonly cursor: string | null;
};

/** Starts the subscription. If it cannot start, returns its errors as the only result. */
export async function startSubscription<Context>(
  operation: ExecutionArgs,
  run: SubscriptionRun<Context>,
): Promise<SubscriptionResults | ExecutionResult> {
  const source = await createSourceEventStream({ ...operation, contextValue: run.makeContext() });
  if (!(Symbol.asyncIterator in source)) {
    // Includes timeouts, unlike throwIfUnavailable: starting does not depend on the client's selection.
    const unavailable = source.errors?.find(({ originalError }) => isUnavailable(originalError));
    if (unavailable) run.onFailure(unavailable.originalError);
    return source;
  }
  return executeEach(operation, source as SourceStream, run);
}

/** Throws if a service was unavailable. The client then reconnects and queries the missed events, instead of getting a partial one. */
function throwIfUnavailable({ errors = [] }: ExecutionResult): void {
  for (const { originalError } of errors) {
    // A timeout is sent to the client as an error: repeating the same selection would time out again.
    if (isUnavailable(originalError) && !isCancelled(originalError.cause)) throw originalError;
  }
}

type SourceStream = AsyncGenerator<unknown, void, void> & { readonly cursor?: string | null };
type ResultStep = IteratorResult<ExecutionResult, void>;

/** Not a generator function, because `return` must reach the source while `next` is pending. */
function executeEach<Context>(
  operation: ExecutionArgs,
  source: SourceStream,
  run: SubscriptionRun<Context>,
): SubscriptionResults {
  let isEnded = false;
  const end = async (): Promise<ResultStep> => {
    run.signal.removeEventListener("abort", onAbort);
    if (!isEnded) run.onEnd();
    isEnded = true;
    await source.return();
    return { done: true, value: undefined };
  };
  const onAbort = (): void => void end();
  run.onStart();
  run.signal.addEventListener("abort", onAbort);
  if (run.signal.aborted) onAbort();

  const step = async (): Promise<ResultStep> => {
    const { done, value: rootValue } = await source.next();
    if (done === true || !(await run.isAuthorized())) return await end();
    const value = await run.semaphore(async () =>
      execute({ ...operation, rootValue, contextValue: run.makeContext() }),
    );
    throwIfUnavailable(value);
    return { done: false, value };
  };
  return {
    cursor: source.cursor ?? null,
    async next() {
      try {
        return await step();
      } catch (error) {
        await end();
        run.onFailure(error);
        return { done: true, value: undefined };
      }
    },
    return: end,
    async throw(error: unknown) {
      await end();
      throw error;
    },
    [Symbol.asyncIterator]() {
      return this;
    },
    async [Symbol.asyncDispose]() {
      await end();
    },
  };
}
