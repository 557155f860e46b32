/** The protocol's course on one socket: who calls, what they subscribe to, and what becomes of each event. */
import { GraphQLError, type ExecutionArgs, type ExecutionResult, type GraphQLSchema } from "graphql";
import {
  makeServer,
  MessageType,
  type ConnectionInitMessage,
  type ServerOptions,
  type SubscribePayload,
} from "graphql-ws";
import { takeToken, type RateLimits } from "../api-keys/rate-limit.ts";
import { SlowReaderError } from "../events/event.buffer.ts";
import { badRequest, invariant, isUnavailable } from "../platform/errors.ts";
import { withoutValues, type Logger } from "../platform/logger.ts";
import { during, type Tracing } from "../platform/tracing.ts";
import { createFairTurnstile, type FairTurnstile } from "../platform/turnstile.ts";
import type { OperationCall } from "./context.ts";
import type { Credential } from "./credential.ts";
import { createErrorFormat } from "./error-format.ts";
import { bucketOf } from "./holder.ts";
import { operationSpan } from "./operation-span.ts";
import { closeCodes, subscriptionLimits, TOO_SLOW } from "./subscription-limits.ts";
import type { SubscriptionMetrics } from "./subscription-metrics.ts";
import { prepareOperation, startOperation, type Results, type Run } from "./subscription-operation.ts";
import { Places, type Place } from "./subscription-places.ts";
import type { LiveSocket } from "./subscription-socket.ts";
import { createTeller } from "./subscription-teller.ts";
import { isRefusal, type Vigil } from "./subscription-vigil.ts";

export interface ProtocolParts<Context extends object> {
  schema: GraphQLSchema;
  makeContext: (request: OperationCall) => Context;
  /** Null: rate limits are off. */
  limits: RateLimits | null;
  logger: Logger;
  tracing?: Tracing | undefined;
}

interface ProtocolTools {
  vigil: Vigil;
  metrics: SubscriptionMetrics;
  /** What whoever opened the socket is known by. Throws where they bring nothing, or may not bring it from there. */
  readonly credentialOf: (live: LiveSocket, init: ConnectionInitMessage["payload"]) => Promise<Credential>;
}

/** To be called once the socket is closed. */
type OnClose = (code: number, reason: string) => void;

const TRY_AGAIN = "The database is away: come back, and ask events(after:) for what was missed";

/** Answers with what serves a socket that has just been opened. */
export function createProtocol<Context extends object>(
  { schema, makeContext, limits, logger, tracing }: ProtocolParts<Context>,
  { vigil, metrics, credentialOf }: ProtocolTools,
): (live: LiveSocket) => OnClose {
  const turnstile = createFairTurnstile(subscriptionLimits.executions);
  const shared = { vigil, metrics, credentialOf, tracing, turnstile };
  const teller = createTeller(createErrorFormat(logger));

  const contextOf = (live: LiveSocket): Context =>
    makeContext({
      holder: live.caller?.holder ?? null,
      requestId: live.requestId,
      address: live.address,
      signal: live.signal,
      duringExternalCall: (call) => call(),
    });

  const prepare = async (live: LiveSocket, id: string, payload: SubscribePayload): Promise<ExecutionArgs> => {
    invariant(live.caller, "who subscribes was admitted");
    if (id.length > subscriptionLimits.idLength)
      throw badRequest([], `The id of a subscription has at most ${subscriptionLimits.idLength} characters`);
    await takeToken(limits, bucketOf(live.caller.holder), "read", () => undefined);
    return { ...prepareOperation(schema, payload), contextValue: contextOf(live) };
  };

  return (live) => {
    const places = new Places();
    const placeOf = new WeakMap<ExecutionArgs, Place>();
    const opened = makeServer({
      connectionInitWaitTimeout: subscriptionLimits.initWithinMs,
      onConnect: ({ connectionParams }) => admit(live, shared, connectionParams),
      onSubscribe: (_connection, id, payload) =>
        begin(live, { id, places, placeOf }, () => prepare(live, id, payload)),
      subscribe: (args) =>
        startOperation(
          args,
          createRun(live, shared, {
            makeContext: () => contextOf(live),
            onEnd: () => placeOf.get(args)?.end(),
            operationName: args.operationName,
          }),
        ),
      onOperation: tellWhenItStands(live),
      onNext: (...happened) => teller.result(live, happened[4] as ExecutionResult),
      onError: (_connection, _id, _payload, errors) =>
        errors.flatMap((error) => teller.errorsOf(live, error)),
    }).opened(
      {
        protocol: live.protocol,
        send: (text) => live.send(text),
        close: (code = closeCodes.internalError, reason = "") => live.close(code, reason),
        onMessage: (take) =>
          live.onMessage((text) => void places.during(() => take(text)).catch(fail(live, logger))),
      },
      undefined,
    );
    return (code, reason) => void opened(code, reason).catch(fail(live, logger));
  };
}

/**
 * The protocol acknowledges no subscription, but lets a ping carry what its sender likes. Whoever has read a job before
 * that may have missed a change; whoever reads it afterwards misses none.
 */
function tellWhenItStands(live: LiveSocket): NonNullable<ServerOptions["onOperation"]> {
  return (...[{ subscriptions }, id, , , result]) => {
    const isStream = typeof result === "object" && Symbol.asyncIterator in result;
    // A client that has completed it meanwhile is told nothing more of it.
    if (!isStream || !(id in subscriptions)) return;
    const { cursor } = result as Results;
    void live.send(JSON.stringify({ type: MessageType.Ping, payload: { subscribed: id, cursor } }));
  };
}

interface Beginning {
  id: string;
  places: Places;
  /** The place that is free once what is executed has ended. */
  placeOf: WeakMap<ExecutionArgs, Place>;
}

/** With a place on the socket, what is to be executed; or why not. */
async function begin(
  live: LiveSocket,
  { id, places, placeOf }: Beginning,
  prepare: () => Promise<ExecutionArgs>,
): Promise<ExecutionArgs | GraphQLError[]> {
  const place = places.take(id);
  if (!place) {
    live.close(closeCodes.subscriberExists, `Subscriber for ${id} already exists`);
    return [new GraphQLError("The socket is closed")];
  }
  try {
    places.refuseTooMany();
    const args = await prepare();
    placeOf.set(args, place);
    return args;
  } catch (error) {
    return [new GraphQLError("", { originalError: error as Error })];
  }
}

/** Of all sockets. */
interface Shared extends ProtocolTools {
  tracing: Tracing | undefined;
  turnstile: FairTurnstile;
}

interface Operation<Context> extends Pick<Run<Context>, "makeContext" | "onEnd"> {
  operationName: string | null | undefined;
}

function createRun<Context>(
  live: LiveSocket,
  { vigil, metrics, tracing, turnstile }: Shared,
  { makeContext, onEnd, operationName }: Operation<Context>,
): Run<Context> {
  return {
    signal: live.signal,
    // Each event is a trace: a subscription lives for days.
    turnstile: (work) =>
      turnstile(turnOf(live), () =>
        during(tracing?.begin(...operationSpan("subscription", operationName)), work),
      ),
    makeContext,
    async mayGoOn() {
      const isGood = await vigil.isStillGood(live);
      if (isGood) metrics.delivered();
      return isGood;
    },
    onBegin: () => metrics.began(),
    onEnd() {
      metrics.ended();
      onEnd();
    },
    onFailure(error) {
      if (error instanceof SlowReaderError) live.close(closeCodes.tooSlow, TOO_SLOW);
      else if (isUnavailable(error)) live.close(closeCodes.tryAgainLater, TRY_AGAIN);
      else throw error;
    },
  };
}

/** The organisation, or the operator, whose subscriptions wait for each other and not for those of others. */
function turnOf({ caller, requestId }: LiveSocket): string {
  return caller?.holder.organizationId ?? caller?.holder.actor.id ?? requestId;
}

/** Whoever may not come in is told why. */
async function admit(
  live: LiveSocket,
  { vigil, credentialOf }: ProtocolTools,
  init: ConnectionInitMessage["payload"],
): Promise<boolean> {
  try {
    const credential = await credentialOf(live, init);
    const holder = await vigil.admit(credential);
    vigil.refuseTooMany(holder);
    live.caller = { credential, holder };
    return true;
  } catch (error) {
    if (isRefusal(error)) live.close(closeCodes.forbidden, error.message);
    else live.close(closeCodes.tryAgainLater, TRY_AGAIN);
    return false;
  }
}

/** For what the library rejects: a message of a kind that clients do not send, or a defect. */
function fail(live: LiveSocket, logger: Logger): (error: unknown) => void {
  return (error) => {
    if (error instanceof Error && error.message.startsWith("Unexpected message of type"))
      return live.close(closeCodes.badRequest, "Unexpected message");
    logger.error({ request_id: live.requestId, err: withoutValues(error) }, "a websocket failed");
    live.close(closeCodes.internalError, "Internal server error");
  };
}
