/** The protocol's course on one socket: who calls, what they subscribe to, and what becomes of each event. */
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
  /** What whoever opened the socket is known by. Throws where they bring nothing, or may not bring it from there. */
  readonly resolveCredential: (
    live: WebSocketConnection,
    init: ConnectionInitMessage["payload"],
  ) => Promise<ConnectionCredential>;
}

/** To be called once the socket is closed. */
type OnClose = (code: number, reason: string) => void;

const TRY_AGAIN_REASON = "The database is away: come back, and ask events(after:) for what was missed";

/** Answers with what serves a socket that has just been opened. */
export function createProtocol<Context extends object>(
  { schema, makeContext, limits, logger, tracing }: ProtocolDeps<Context>,
  { monitor, metrics, resolveCredential }: ProtocolServices,
): (live: WebSocketConnection) => OnClose {
  const semaphore = createFairSemaphore(subscriptionLimits.executions);
  const shared = { monitor, metrics, resolveCredential, tracing, semaphore };
  const errorFormatter = createSubscriptionErrorFormatter(createErrorFormatter(logger));

  const contextOf = (live: WebSocketConnection): Context =>
    makeContext({
      principal: live.authentication?.principal ?? null,
      requestId: live.requestId,
      address: live.ipAddress,
      signal: live.signal,
      duringExternalCall: (call) => call(),
    });

  const prepare = async (
    live: WebSocketConnection,
    id: string,
    payload: SubscribePayload,
  ): Promise<ExecutionArgs> => {
    invariant(live.authentication, "who subscribes was admitted");
    if (id.length > subscriptionLimits.maxIdLength)
      throw badRequest(
        [],
        `The id of a subscription has at most ${subscriptionLimits.maxIdLength} characters`,
      );
    await takeToken(limits, rateLimitSubjectOf(live.authentication.principal), "read", () => undefined);
    return { ...prepareOperation(schema, payload), contextValue: contextOf(live) };
  };

  return (live) => {
    const registry = new SubscriptionRegistry();
    const slotByArgs = new WeakMap<ExecutionArgs, SubscriptionSlot>();
    const opened = makeServer({
      connectionInitWaitTimeout: subscriptionLimits.initTimeoutMs,
      onConnect: ({ connectionParams }) => authorizeConnection(live, shared, connectionParams),
      onSubscribe: (_connection, id, payload) =>
        startSubscription(live, { id, registry, slotByArgs }, () => prepare(live, id, payload)),
      subscribe: (args) =>
        startOperation(
          args,
          createRun(live, shared, {
            makeContext: () => contextOf(live),
            onEnd: () => slotByArgs.get(args)?.release(),
            operationName: args.operationName,
          }),
        ),
      onOperation: sendSubscribedPing(live),
      onNext: (...happened) => errorFormatter.formatResult(live, happened[4] as ExecutionResult),
      onError: (_connection, _id, _payload, errors) =>
        errors.flatMap((error) => errorFormatter.formatErrors(live, error)),
    }).opened(toServerSocket(live, registry, logger), undefined);
    return (code, reason) => void opened(code, reason).catch(closeOnError(live, logger));
  };
}

function toServerSocket(
  live: WebSocketConnection,
  registry: SubscriptionRegistry,
  logger: Logger,
): ServerSocket {
  return {
    protocol: live.protocol,
    send: (text) => live.send(text),
    close: (code = closeCodes.internalError, reason = "") => live.close(code, reason),
    onMessage: (take) =>
      live.onMessage((text) => void registry.track(() => take(text)).catch(closeOnError(live, logger))),
  };
}

/**
 * The protocol acknowledges no subscription, but lets a ping carry what its sender likes. Whoever has read a job before
 * that may have missed a change; whoever reads it afterwards misses none.
 */
function sendSubscribedPing(connection: WebSocketConnection): NonNullable<ServerOptions["onOperation"]> {
  return (...[{ subscriptions }, id, , , result]) => {
    const isStream = typeof result === "object" && Symbol.asyncIterator in result;
    // A client that has completed it meanwhile is told nothing more of it.
    if (!isStream || !(id in subscriptions)) return;
    const { cursor } = result as SubscriptionResults;
    void connection.send(JSON.stringify({ type: MessageType.Ping, payload: { subscribed: id, cursor } }));
  };
}

interface StartRequest {
  id: string;
  registry: SubscriptionRegistry;
  /** The place that is free once what is executed has ended. */
  slotByArgs: WeakMap<ExecutionArgs, SubscriptionSlot>;
}

/** With a place on the socket, what is to be executed; or why not. */
async function startSubscription(
  connection: WebSocketConnection,
  { id, registry, slotByArgs }: StartRequest,
  prepare: () => Promise<ExecutionArgs>,
): Promise<ExecutionArgs | GraphQLError[]> {
  const slot = registry.reserve(id);
  if (!slot) {
    connection.close(closeCodes.subscriberExists, `Subscriber for ${id} already exists`);
    return [new GraphQLError("The socket is closed")];
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

/** Of all sockets. */
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
    // Each event is a trace: a subscription lives for days.
    semaphore: (work) =>
      semaphore(fairnessKey(connection), () =>
        withSpan(tracing?.startTrace(...operationSpan("subscription", operationName)), work),
      ),
    makeContext,
    async isAuthorized() {
      const isGood = await monitor.revalidate(connection);
      if (isGood) metrics.eventSent();
      return isGood;
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

/** The organisation, or the operator, whose subscriptions wait for each other and not for those of others. */
function fairnessKey({ authentication, requestId }: WebSocketConnection): string {
  return authentication?.principal.organizationId ?? authentication?.principal.actor.id ?? requestId;
}

/** Whoever may not come in is told why. */
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

/** For what the library rejects: a message of a kind that clients do not send, or a defect. */
function closeOnError(connection: WebSocketConnection, logger: Logger): (error: unknown) => void {
  return (error) => {
    if (error instanceof Error && error.message.startsWith("Unexpected message of type"))
      return connection.close(closeCodes.badRequest, "Unexpected message");
    logger.error({ request_id: connection.requestId, err: serializeError(error) }, "a websocket failed");
    connection.close(closeCodes.internalError, "Internal server error");
  };
}
