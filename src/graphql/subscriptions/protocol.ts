/** Serves the graphql-transport-ws protocol on a connection: authentication, subscriptions and their events. */
import { GraphQLError, type ExecutionArgs, type ExecutionResult, type GraphQLSchema } from "graphql";
import {
  makeServer,
  MessageType,
  type ConnectionInitMessage,
  type ServerOptions,
  type SubscribePayload,
  type WebSocket as ServerSocket,
} from "graphql-ws";
import { type RateLimits, takeToken } from "../../rate-limits/api.ts";
import { SlowReaderError } from "../../events/api.ts";
import { badRequest, invariant, isUnavailable } from "../../platform/errors.ts";
import { serializeError, type Logger } from "../../platform/logger.ts";
import { withSpan, type Tracing } from "../../platform/tracing/tracing.ts";
import { createFairSemaphore, type FairSemaphore } from "../../platform/concurrency/semaphore.ts";
import type { IncomingOperation } from "../context.ts";
import type { ConnectionCredential } from "./connection-credentials.ts";
import { createErrorFormatter } from "../execution/error-formatter.ts";
import { rateLimitSubjectOf } from "../principal.ts";
import { operationSpan } from "../execution/operation-span.ts";
import { closeCodes, subscriptionLimits, TOO_SLOW_REASON } from "./limits.ts";
import type { SubscriptionMetrics } from "./metrics.ts";
import {
  prepareOperation,
  startOperation,
  type SubscriptionResults,
  type SubscriptionRun,
} from "./operation.ts";
import { SubscriptionRegistry, type SubscriptionSlot } from "./registry.ts";
import type { WebSocketConnection } from "./websocket-connection.ts";
import { createSubscriptionErrorFormatter } from "./error-formatter.ts";
import { isAuthorizationError, type ConnectionMonitor } from "./connection-monitor.ts";

export interface ProtocolDeps<Context extends object> {
  schema: GraphQLSchema;
  makeContext: (request: IncomingOperation) => Context;
  /** Null: rate limits are off. */
  limits: RateLimits | null;
  logger: Logger;
  tracing?: Tracing | undefined;
}

interface ProtocolServices {
  monitor: ConnectionMonitor;
  metrics: SubscriptionMetrics;
  /** Throws UnauthorizedException without a credential, and ForbiddenException for a cookie from another origin. */
  readonly resolveCredential: (
    connection: WebSocketConnection,
    init: ConnectionInitMessage["payload"],
  ) => Promise<ConnectionCredential>;
}

/** Must be called after the connection has closed. */
type OnClose = (code: number, reason: string) => void;

const TRY_AGAIN_REASON =
  "The database is unavailable: reconnect, then query events(after:) for missed events";

/** Returns a function that serves a newly opened connection. */
export function createProtocol<Context extends object>(
  { schema, makeContext, limits, logger, tracing }: ProtocolDeps<Context>,
  { monitor, metrics, resolveCredential }: ProtocolServices,
): (connection: WebSocketConnection) => OnClose {
  const semaphore = createFairSemaphore(subscriptionLimits.executions);
  const shared = { monitor, metrics, resolveCredential, tracing, semaphore };
  const errorFormatter = createSubscriptionErrorFormatter(createErrorFormatter(logger));

  const contextOf = (connection: WebSocketConnection): Context =>
    makeContext({
      principal: connection.authentication?.principal ?? null,
      requestId: connection.requestId,
      address: connection.ipAddress,
      signal: connection.signal,
      duringExternalCall: (call) => call(),
    });

  const prepare = async (
    connection: WebSocketConnection,
    id: string,
    payload: SubscribePayload,
  ): Promise<ExecutionArgs> => {
    invariant(connection.authentication, "subscribing requires connection_init");
    if (id.length > subscriptionLimits.maxIdLength)
      throw badRequest(
        [],
        `The ID of a subscription must be at most ${subscriptionLimits.maxIdLength} characters`,
      );
    await takeToken(limits, rateLimitSubjectOf(connection.authentication.principal), "read", () => undefined);
    return { ...prepareOperation(schema, payload), contextValue: contextOf(connection) };
  };

  return (connection) => {
    const registry = new SubscriptionRegistry();
    const slotByArgs = new WeakMap<ExecutionArgs, SubscriptionSlot>();
    const opened = makeServer({
      connectionInitWaitTimeout: subscriptionLimits.initTimeoutMs,
      onConnect: ({ connectionParams }) => authorizeConnection(connection, shared, connectionParams),
      onSubscribe: (_connection, id, payload) =>
        startSubscription(connection, { id, registry, slotByArgs }, () => prepare(connection, id, payload)),
      subscribe: (args) =>
        startOperation(
          args,
          createRun(connection, shared, {
            makeContext: () => contextOf(connection),
            onEnd: () => slotByArgs.get(args)?.release(),
            operationName: args.operationName,
          }),
        ),
      onOperation: sendSubscribedPing(connection),
      onNext: (...[, , , , result]) => errorFormatter.formatResult(connection, result as ExecutionResult),
      onError: (_connection, _id, _payload, errors) =>
        errors.flatMap((error) => errorFormatter.formatErrors(connection, error)),
    }).opened(toServerSocket(connection, registry, logger), undefined);
    return (code, reason) => void opened(code, reason).catch(closeOnError(connection, logger));
  };
}

function toServerSocket(
  connection: WebSocketConnection,
  registry: SubscriptionRegistry,
  logger: Logger,
): ServerSocket {
  return {
    protocol: connection.protocol,
    send: (text) => connection.send(text),
    close: (code = closeCodes.internalError, reason = "") => connection.close(code, reason),
    onMessage: (handle) =>
      connection.onMessage(
        (text) => void registry.track(() => handle(text)).catch(closeOnError(connection, logger)),
      ),
  };
}

/**
 * Sends a ping when a subscription becomes active, because the protocol has no acknowledgement. A client that reads jobs
 * after this ping misses no change.
 */
function sendSubscribedPing(connection: WebSocketConnection): NonNullable<ServerOptions["onOperation"]> {
  return (...[{ subscriptions }, id, , , result]) => {
    const isStream = typeof result === "object" && Symbol.asyncIterator in result;
    // The client has completed the subscription meanwhile.
    if (!isStream || !(id in subscriptions)) return;
    const { cursor } = result as SubscriptionResults;
    void connection.send(JSON.stringify({ type: MessageType.Ping, payload: { subscribed: id, cursor } }));
  };
}

interface StartRequest {
  id: string;
  registry: SubscriptionRegistry;
  /** The slot to release when the subscription of these arguments ends. */
  slotByArgs: WeakMap<ExecutionArgs, SubscriptionSlot>;
}

/** Reserves a slot and returns the execution arguments, or the errors. */
async function startSubscription(
  connection: WebSocketConnection,
  { id, registry, slotByArgs }: StartRequest,
  prepare: () => Promise<ExecutionArgs>,
): Promise<ExecutionArgs | GraphQLError[]> {
  const slot = registry.reserve(id);
  if (!slot) {
    connection.close(closeCodes.subscriberExists, `Subscriber for ${id} already exists`);
    return [new GraphQLError("The WebSocket is closed")];
  }
  try {
    registry.assertCapacity();
    const args = await prepare();
    slotByArgs.set(args, slot);
    return args;
  } catch (error) {
    return [new GraphQLError("", { originalError: error as Error })];
  }
}

/** Shared by all connections. */
interface SharedServices extends ProtocolServices {
  tracing: Tracing | undefined;
  semaphore: FairSemaphore;
}

interface RunOptions<Context> extends Pick<SubscriptionRun<Context>, "makeContext" | "onEnd"> {
  operationName: string | null | undefined;
}

function createRun<Context>(
  connection: WebSocketConnection,
  { monitor, metrics, tracing, semaphore }: SharedServices,
  { makeContext, onEnd, operationName }: RunOptions<Context>,
): SubscriptionRun<Context> {
  return {
    signal: connection.signal,
    // Each event has its own trace: a subscription can last for days.
    semaphore: (work) =>
      semaphore(fairnessKey(connection), () =>
        withSpan(tracing?.startTrace(...operationSpan("subscription", operationName)), work),
      ),
    makeContext,
    async isAuthorized() {
      const isValid = await monitor.revalidate(connection);
      if (isValid) metrics.eventSent();
      return isValid;
    },
    onStart: () => metrics.subscriptionStarted(),
    onEnd() {
      metrics.subscriptionEnded();
      onEnd();
    },
    onFailure(error) {
      if (error instanceof SlowReaderError) connection.close(closeCodes.tooSlow, TOO_SLOW_REASON);
      else if (isUnavailable(error)) connection.close(closeCodes.tryAgainLater, TRY_AGAIN_REASON);
      else throw error;
    },
  };
}

/** The organisation or operator whose subscriptions share one semaphore queue. */
function fairnessKey({ authentication, requestId }: WebSocketConnection): string {
  return authentication?.principal.organizationId ?? authentication?.principal.actor.id ?? requestId;
}

/** Returns false and closes the connection with a reason if it is not authorised. */
async function authorizeConnection(
  connection: WebSocketConnection,
  { monitor, resolveCredential }: ProtocolServices,
  init: ConnectionInitMessage["payload"],
): Promise<boolean> {
  try {
    const credential = await resolveCredential(connection, init);
    const principal = await monitor.authorize(credential);
    monitor.assertConnectionLimit(principal);
    connection.authentication = { credential, principal };
    return true;
  } catch (error) {
    if (isAuthorizationError(error)) connection.close(closeCodes.forbidden, error.message);
    else connection.close(closeCodes.tryAgainLater, TRY_AGAIN_REASON);
    return false;
  }
}

/** Handles errors from graphql-ws: a message type that clients must not send, or a bug. */
function closeOnError(connection: WebSocketConnection, logger: Logger): (error: unknown) => void {
  return (error) => {
    if (error instanceof Error && error.message.startsWith("Unexpected message of type"))
      return connection.close(closeCodes.badRequest, "Unexpected message");
    logger.error({ request_id: connection.requestId, err: serializeError(error) }, "websocket failed");
    connection.close(closeCodes.internalError, "Internal server error");
  };
}
