/** Serves the graphql-transport-ws protocol with graphql-ws: authentication, subscriptions and their events. */
import type { ApolloServer } from "@apollo/server";
import { type ExecutionArgs, type ExecutionResult, GraphQLError } from "graphql";
import { makeServer, MessageType, type SubscribePayload } from "graphql-ws";
import { type RateLimits, takeTokens } from "../../../rate-limits/api.ts";
import { FairSemaphore } from "../../../core/concurrency/semaphore.ts";
import { AppError, invariant } from "../../../core/errors.ts";
import type { ErrorFormatter } from "../execution/error-formatter.ts";
import { rateLimitSubjectOf } from "../authenticated-principal.ts";
import { currentRequest } from "../context.ts";
import { authenticate, type AuthenticateDeps } from "./authenticate.ts";
import type { Connection } from "./connection.ts";
import { startSubscription, type EventExecutionDeps, type SubscriptionResults } from "./event-execution.ts";
import { subscriptionLimits } from "./limits.ts";

export interface ProtocolDeps extends AuthenticateDeps, Omit<EventExecutionDeps, "semaphore"> {
  apollo: ApolloServer;
  errors: ErrorFormatter;
  limits: RateLimits | null;
}

/** Returns a function that serves a newly opened connection. It returns a function to call after the connection has closed. */
export function createProtocol(
  deps: ProtocolDeps,
): (connection: Connection) => (code: number, reason: string) => void {
  const { errors } = deps;
  const executionDeps = { ...deps, semaphore: new FairSemaphore(subscriptionLimits.executions) };
  return (connection) => {
    const onClose = makeServer({
      connectionInitWaitTimeout: subscriptionLimits.initTimeoutMs,
      onConnect: ({ connectionParams }) => authenticate(deps, connection, connectionParams),
      async onSubscribe(_context, _id, payload) {
        connection.starting += 1;
        const checked = await check(deps, connection, payload).catch((error: unknown) => [
          errors.translate(error),
        ]);
        if (Array.isArray(checked)) connection.starting -= 1;
        return checked;
      },
      subscribe: (args) =>
        startSubscription(executionDeps, connection, args).finally(() => (connection.starting -= 1)),
      onOperation(...[{ subscriptions }, id, , , result]) {
        const isStream = typeof result === "object" && Symbol.asyncIterator in result;
        // Otherwise it could not start, or the client has completed it meanwhile.
        if (isStream && id in subscriptions)
          sendSubscribedPing(connection, id, result as SubscriptionResults);
      },
      onNext: (...[, , , , result]) => errors.formatResult(result as ExecutionResult),
      onError: (_connection, _id, _payload, failures) =>
        failures.map((error) => errors.format(error.originalError ?? error)),
    }).opened(connection, undefined);
    return (code, reason) =>
      void onClose(code, reason).catch((error: unknown) => connection.closeOnError(error));
  };
}

/** Returns the checked subscription, or the errors of its operation. Throws an AppError for a connection over a limit. */
async function check(
  { apollo, makeContext, limits }: ProtocolDeps,
  { principal, starting, active }: Connection,
  { query, operationName, variables }: SubscribePayload,
): Promise<ExecutionArgs | GraphQLError[]> {
  invariant(principal, "subscribing requires connection_init");
  const { subscriptionsPerConnection } = subscriptionLimits;
  if (starting + active > subscriptionsPerConnection)
    throw new AppError(
      "TooManyRequestsException",
      `A WebSocket can have at most ${subscriptionsPerConnection} subscriptions`,
    );
  await takeTokens(limits, rateLimitSubjectOf(principal), { kind: "read" }, () => undefined);
  const request = {
    query,
    ...(typeof operationName === "string" && { operationName }),
    ...(variables && { variables }),
  };
  const { body } = await apollo.executeOperation(request, { contextValue: makeContext(currentRequest()) });
  const { subscription } = currentRequest();
  if (subscription) return subscription;
  invariant(body.kind === "single" && body.singleResult.errors, "an operation is accepted or rejected");
  // graphql-ws accepts only GraphQLErrors.
  return body.singleResult.errors.map((failure) => Object.assign(new GraphQLError(failure.message), failure));
}

/**
 * Sends a ping when a subscription becomes active, because the protocol has no acknowledgement. A client that reads jobs
 * after this ping misses no change.
 */
function sendSubscribedPing(
  connection: Connection,
  subscribed: string,
  { cursor }: SubscriptionResults,
): void {
  void connection.send(JSON.stringify({ type: MessageType.Ping, payload: { subscribed, cursor } }));
}
