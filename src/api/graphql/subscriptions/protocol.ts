/** Serves the graphql-transport-ws protocol with graphql-ws: authentication, subscriptions and their events. */
import type { ApolloServer, BaseContext } from "@apollo/server";
import {
  type DocumentNode,
  type ExecutionArgs,
  type ExecutionResult,
  GraphQLError,
  type GraphQLFormattedError,
  Kind,
  type SelectionSetNode,
} from "graphql";
import { makeServer, MessageType, type SubscribePayload } from "graphql-ws";
import { type RateLimits, takeTokens } from "../../../rate-limits/api.ts";
import { FairSemaphore } from "../../../core/concurrency/semaphore.ts";
import { AppError, badRequest, invariant, isUnavailable } from "../../../core/errors.ts";
import { startTrace, withSpan } from "../../../core/tracing/tracing.ts";
import { partnerOf } from "../../../core/principal.ts";
import type { IncomingOperation } from "../context.ts";
import type { ErrorFormatter } from "../execution/error-formatter.ts";
import { operationSpan } from "../execution/operation-span.ts";
import { rateLimitSubjectOf } from "../authenticated-principal.ts";
import { type CheckedSubscription, currentRequest } from "../request-store.ts";
import { authenticate, type AuthenticateDeps, revalidate } from "./authenticate.ts";
import type { Connection } from "./connection.ts";
import { startSubscription, type SubscriptionResults } from "./event-execution.ts";
import { closeCodes, subscriptionLimits, TRY_AGAIN_REASON } from "./limits.ts";
import type { SubscriptionMetrics } from "./metrics.ts";

export interface ProtocolDeps extends AuthenticateDeps {
  apollo: ApolloServer;
  errors: ErrorFormatter;
  makeContext: (request: IncomingOperation) => BaseContext;
  limits: RateLimits | null;
  metrics: SubscriptionMetrics;
}

interface Shared extends ProtocolDeps {
  /** Of the executions on all connections. */
  readonly semaphore: FairSemaphore;
}

/** Returns a function that serves a newly opened connection. It returns a function to call after the connection has closed. */
export function createProtocol(
  deps: ProtocolDeps,
): (connection: Connection) => (code: number, reason: string) => void {
  const shared = { ...deps, semaphore: new FairSemaphore(subscriptionLimits.executions) };
  const { errors } = deps;
  return (connection) => {
    const onClose = makeServer({
      connectionInitWaitTimeout: subscriptionLimits.initTimeoutMs,
      onConnect: ({ connectionParams }) => authenticate(deps, connection, connectionParams),
      onSubscribe: (_connection, _id, payload) => accept(shared, connection, payload),
      subscribe: (args) => start(shared, connection, args),
      onOperation(...[{ subscriptions }, id, , , result]) {
        const isStream = typeof result === "object" && Symbol.asyncIterator in result;
        // Otherwise it could not start, or the client has completed it meanwhile.
        if (isStream && id in subscriptions)
          sendSubscribedPing(connection, id, result as SubscriptionResults);
      },
      onNext: (...[, , , , result]) => errors.formatResult(result as ExecutionResult),
      onError: (_connection, _id, _payload, failures) =>
        failures.map((error) =>
          error instanceof FormattedError ? error.formatted : errors.format(error.originalError ?? error),
        ),
    }).opened(connection, undefined);
    return (code, reason) =>
      void onClose(code, reason).catch((error: unknown) => connection.closeOnError(error));
  };
}

/** Registers and checks a subscription. Returns its arguments or its errors. */
async function accept(
  shared: Shared,
  connection: Connection,
  payload: SubscribePayload,
): Promise<ExecutionArgs | GraphQLError[]> {
  const reject = (failures: readonly GraphQLFormattedError[]): GraphQLError[] => {
    connection.subscriptionCount -= 1;
    return failures.map((failure) => new FormattedError(failure));
  };
  connection.subscriptionCount += 1;
  try {
    const checked = await check(shared, connection, payload);
    return "document" in checked ? checked : reject(checked);
  } catch (error) {
    return reject([shared.errors.format(error)]);
  }
}

/** Returns the subscription, or the errors of its operation. Throws an AppError for a connection over a limit. */
async function check(
  { apollo, makeContext, limits }: Shared,
  { authentication, subscriptionCount }: Connection,
  payload: SubscribePayload,
): Promise<(CheckedSubscription & ExecutionArgs) | readonly GraphQLFormattedError[]> {
  invariant(authentication, "subscribing requires connection_init");
  const { subscriptionsPerConnection } = subscriptionLimits;
  if (subscriptionCount > subscriptionsPerConnection)
    throw new AppError(
      "TooManyRequestsException",
      `A WebSocket can have at most ${subscriptionsPerConnection} subscriptions`,
    );
  await takeTokens(limits, rateLimitSubjectOf(authentication.principal), { kind: "read" }, () => undefined);
  return await checkOperation(apollo, makeContext(currentRequest()), payload);
}

async function start(
  { makeContext, metrics, semaphore }: Shared,
  connection: Connection,
  args: ExecutionArgs,
): Promise<SubscriptionResults | ExecutionResult> {
  const results = await startSubscription(args, {
    signal: connection.signal,
    makeContext: (signal) => makeContext({ ...connection.request, signal }),
    // Each event has its own trace: a subscription can last for days.
    semaphore: (work) =>
      semaphore.run(fairnessKey(connection), () =>
        withSpan(startTrace(...operationSpan("subscription", args.operationName)), work),
      ),
    async isAuthorized() {
      const isValid = await revalidate(connection);
      if (isValid) metrics.eventSent();
      return isValid;
    },
    onStart: () => metrics.subscriptionStarted(),
    onEnd() {
      metrics.subscriptionEnded();
      connection.subscriptionCount -= 1;
    },
    onFailure: (error) => closeOnFailure(connection, error),
  });
  if (!(Symbol.asyncIterator in results)) connection.subscriptionCount -= 1;
  return results;
}

/** graphql-ws accepts only GraphQLErrors. */
class FormattedError extends GraphQLError {
  readonly formatted: GraphQLFormattedError;

  constructor(formatted: GraphQLFormattedError) {
    super(formatted.message);
    this.formatted = formatted;
  }
}

/** The partner or operator whose subscriptions share one semaphore queue. */
function fairnessKey({ authentication, requestId }: Connection): string {
  if (!authentication) return requestId;
  const { principal } = authentication;
  return partnerOf(principal) ?? principal.actor.id ?? requestId;
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

/** Closes the connection of a subscription that failed or could not start. Throws an unexpected error, for the client. */
function closeOnFailure(connection: Connection, error: unknown): void {
  if (isUnavailable(error)) connection.close(closeCodes.tryAgainLater, TRY_AGAIN_REASON);
  else throw error;
}

/** Returns the subscription, or the errors of the operation. Throws BadRequestException for a root field that may be excluded. */
async function checkOperation(
  apollo: ApolloServer,
  contextValue: BaseContext,
  { query, operationName, variables }: SubscribePayload,
): Promise<CheckedSubscription | readonly GraphQLFormattedError[]> {
  const request = {
    query,
    ...(typeof operationName === "string" && { operationName }),
    ...(variables && { variables }),
  };
  const { body } = await apollo.executeOperation(request, { contextValue });
  const { subscription } = currentRequest();
  if (!subscription) {
    invariant(body.kind === "single" && body.singleResult.errors, "an operation is accepted or rejected");
    return body.singleResult.errors;
  }
  if (isRootConditional(subscription.operation.selectionSet, subscription.document))
    throw badRequest([], "The root field of a subscription cannot have @skip or @include");
  return subscription;
}

/** True if a directive could exclude the root field: then there would be nothing to subscribe to. */
function isRootConditional({ selections }: SelectionSetNode, document: DocumentNode): boolean {
  return selections.some((selection) => {
    if ((selection.directives ?? []).length > 0) return true;
    if (selection.kind === Kind.FIELD) return false;
    if (selection.kind === Kind.INLINE_FRAGMENT) return isRootConditional(selection.selectionSet, document);
    return document.definitions.some(
      (definition) =>
        definition.kind === Kind.FRAGMENT_DEFINITION &&
        definition.name.value === selection.name.value &&
        isRootConditional(definition.selectionSet, document),
    );
  });
}
