/** Starts a checked subscription, and executes it for each event. */
import { setMaxListeners } from "node:events";
import type { BaseContext } from "@apollo/server";
import { createSourceEventStream, execute, type ExecutionArgs, type ExecutionResult } from "graphql";
import { isCancelled } from "../../../core/postgres/errors.ts";
import { isUnavailable } from "../../../core/errors.ts";
import type { FairSemaphore } from "../../../core/concurrency/semaphore.ts";
import { partnerOf } from "../../../core/principal.ts";
import { startTrace, withSpan } from "../../../core/tracing/tracing.ts";
import type { IncomingOperation } from "../context.ts";
import { operationSpan } from "../execution/operation-span.ts";
import { revalidate } from "./authenticate.ts";
import type { Connection } from "./connection.ts";
import { closeCodes, TRY_AGAIN_REASON } from "./limits.ts";
import type { SubscriptionMetrics } from "./metrics.ts";

export interface EventExecutionDeps {
  makeContext: (request: IncomingOperation) => BaseContext;
  /** Limits concurrent executions on all connections. */
  semaphore: Pick<FairSemaphore, "run">;
  metrics: SubscriptionMetrics;
}

/** The results of a subscription. They contain all events after `cursor`, a cursor of the `events` query. */
export type SubscriptionResults = AsyncGenerator<ExecutionResult, void, void> & {
  readonly cursor: string | null;
};

/** Starts the subscription, and counts it until it ends. If it cannot start, returns its errors as the only result. */
export async function startSubscription(
  { makeContext, semaphore, metrics }: EventExecutionDeps,
  connection: Pick<Connection, "request" | "signal" | "principal" | "credential" | "active" | "close">,
  operation: ExecutionArgs,
): Promise<SubscriptionResults | ExecutionResult> {
  const ending = new AbortController();
  const signal = AbortSignal.any([connection.signal, ending.signal]);
  // Every running SQL statement adds a listener.
  setMaxListeners(0, signal);
  // Each event has empty data loaders.
  const newContext = (): BaseContext => makeContext({ ...connection.request, signal });
  const source = await createSourceEventStream({ ...operation, contextValue: newContext() });
  if (!(Symbol.asyncIterator in source)) {
    // Includes timeouts, unlike below: starting does not depend on the client's selection.
    if (source.errors?.some(({ originalError }) => isUnavailable(originalError)))
      connection.close(closeCodes.tryAgainLater, TRY_AGAIN_REASON);
    return source;
  }
  connection.active += 1;
  signal.addEventListener("abort", () => (connection.active -= 1), { once: true });

  const executeFor = (rootValue: unknown): Promise<ExecutionResult> => {
    const { principal, requestId } = connection.request;
    // Partners and operators take turns.
    const owner = (principal && (partnerOf(principal) ?? principal.actor.id)) ?? requestId;
    // Each event has its own trace: a subscription can last for days.
    return semaphore.run(owner, () =>
      withSpan(startTrace(...operationSpan("subscription", operation.operationName)), async () =>
        execute({ ...operation, rootValue, contextValue: newContext() }),
      ),
    );
  };
  const results = (async function* executeEach(): AsyncGenerator<ExecutionResult, void, void> {
    try {
      for await (const rootValue of source) {
        if (!(await revalidate(connection))) return;
        metrics.eventSent();
        const result = await executeFor(rootValue);
        throwIfUnavailable(result);
        if (signal.aborted) return;
        yield result;
      }
    } catch (error) {
      if (!isUnavailable(error)) throw error;
      connection.close(closeCodes.tryAgainLater, TRY_AGAIN_REASON);
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
