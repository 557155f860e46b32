/** Starts a checked subscription, and executes it for each event. */
import { setMaxListeners } from "node:events";
import { createSourceEventStream, execute, type ExecutionArgs, type ExecutionResult } from "graphql";
import { isCancelled } from "../../../core/postgres/errors.ts";
import { isUnavailable } from "../../../core/errors.ts";
import type { Semaphore } from "../../../core/concurrency/semaphore.ts";

export interface SubscriptionRun {
  readonly signal: AbortSignal;
  /** Creates the context of one event, with empty data loaders. `signal` aborts when the subscription ends. */
  makeContext(signal: AbortSignal): unknown;
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
export async function startSubscription(
  operation: ExecutionArgs,
  run: SubscriptionRun,
): Promise<SubscriptionResults | ExecutionResult> {
  const ending = new AbortController();
  const signal = AbortSignal.any([run.signal, ending.signal]);
  // Every running SQL statement adds a listener.
  setMaxListeners(0, signal);
  const makeContext = (): unknown => run.makeContext(signal);
  const source = await createSourceEventStream({ ...operation, contextValue: makeContext() });
  if (!(Symbol.asyncIterator in source)) {
    // Includes timeouts, unlike throwIfUnavailable: starting does not depend on the client's selection.
    const unavailable = source.errors?.find(({ originalError }) => isUnavailable(originalError));
    if (unavailable) run.onFailure(unavailable.originalError);
    return source;
  }
  run.onStart();
  if (signal.aborted) run.onEnd();
  else signal.addEventListener("abort", () => run.onEnd(), { once: true });

  const results = (async function* executeEach(): AsyncGenerator<ExecutionResult, void, void> {
    try {
      for await (const rootValue of source) {
        if (!(await run.isAuthorized())) return;
        const result = await run.semaphore(async () =>
          execute({ ...operation, rootValue, contextValue: makeContext() }),
        );
        throwIfUnavailable(result);
        if (signal.aborted) return;
        yield result;
      }
    } catch (error) {
      run.onFailure(error);
    } finally {
      ending.abort();
    }
  })();
  const finish = results.return.bind(results);
  return Object.assign(results, {
    cursor: (source as { readonly cursor?: string }).cursor ?? null,
    /** A generator returns only after its pending `next`, which waits for an event: ending the source ends that. */
    return() {
      ending.abort();
      return finish();
    },
  });
}

/** Throws if a service was unavailable. The client then reconnects and queries the missed events, instead of getting a partial one. */
function throwIfUnavailable({ errors = [] }: ExecutionResult): void {
  for (const { originalError } of errors) {
    // A timeout is sent to the client as an error: repeating the same selection would time out again.
    if (isUnavailable(originalError) && !isCancelled(originalError.cause)) throw originalError;
  }
}
