/**
 * GraphQL subscriptions over WebSocket (graphql-transport-ws), with the same authentication, visibility and limits as over
 * HTTP, and limits on open connections.
 */
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import type { BaseContext } from "@apollo/server";
import { handleProtocols } from "graphql-ws";
import type { Registry } from "prom-client";
import { WebSocketServer, type WebSocket } from "ws";
import { singleFlight } from "../../../core/concurrency/single-flight.ts";
import { newRequestId } from "../../../core/ids.ts";
import type { Logger } from "../../../core/logger.ts";
import { networkOf } from "../../../core/network.ts";
import { revalidateAll } from "./authenticate.ts";
import { Connection } from "./connection.ts";
import {
  createClientIpResolver,
  createOriginCheck,
  rejectUpgrade,
  type HandshakeRejection,
  type OriginPolicy,
} from "./handshake.ts";
import { closeCodes, subscriptionLimits } from "./limits.ts";
import { createSubscriptionMetrics } from "./metrics.ts";
import { createProtocol, type ProtocolDeps } from "./protocol.ts";
import { createHostCheck, type HostCheckOptions } from "../../../core/host-check.ts";
import { withTimeout } from "../../../core/concurrency/timeout.ts";

interface SubscriptionServerDeps<Context extends BaseContext> extends Omit<
  ProtocolDeps<Context>,
  "connections" | "metrics"
> {
  path: string;
  logger: Logger;
  registry: Registry;
  environment: string;
  http: OriginPolicy & HostCheckOptions["http"] & { trustProxy: number | readonly string[] };
}

/** Disposing rejects new connections and closes all open ones within a few seconds. */
export interface SubscriptionServer extends AsyncDisposable {
  readonly path: string;
  /** Accepts the handshake, or rejects it with an HTTP response. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void;
}

export function createSubscriptionServer<Context extends BaseContext>(
  deps: SubscriptionServerDeps<Context>,
): SubscriptionServer {
  const { logger, http, path, errors } = deps;
  const checkHost = createHostCheck(deps);
  const isOriginAllowed = createOriginCheck(http);
  const clientIpOf = createClientIpResolver(http.trustProxy);
  const connections = new Set<Connection>();
  const metrics = createSubscriptionMetrics(deps.registry, () => connections.size);
  const serve = createProtocol({ ...deps, connections, metrics });
  const stopChecks = startChecks(connections);
  const server = createWebSocketServer();
  const requestIds = new WeakMap<IncomingMessage, string>();
  server.on("headers", (headers, request) => headers.push(`X-Request-Id: ${requestIds.get(request)}`));
  let isStopping = false;

  const rejectionFor = (request: IncomingMessage): HandshakeRejection | null => {
    if (isStopping) return { status: 503, message: "The server is stopping" };
    const hostProblem = checkHost(request);
    if (hostProblem !== null) return { status: 400, message: hostProblem };
    if (!isOriginAllowed(request))
      return { status: 403, message: "Pages of this origin cannot open WebSockets" };
    return limitRejection(connections, clientIpOf(request));
  };

  const accept = (socket: WebSocket, request: IncomingMessage, requestId: string): void => {
    const { headers, rawHeaders } = request;
    const ipAddress = clientIpOf(request);
    const connection = new Connection(socket, { headers, rawHeaders, requestId, logger, ipAddress });
    connections.add(connection);
    const onClose = serve(connection);
    socket.once("close", (code, reason) => {
      connections.delete(connection);
      metrics.connectionClosed(connection.closeCode ?? "client");
      onClose(code, reason.toString());
    });
  };

  return {
    path,
    upgrade(request, socket, head) {
      const requestId = newRequestId();
      const rejection = rejectionFor(request);
      if (rejection) {
        metrics.handshakeRejected(rejection.status);
        logger.info({ request_id: requestId, ...rejection }, "websocket handshake rejected");
        rejectUpgrade(socket, rejection, { requestId, errors });
        return;
      }
      requestIds.set(request, requestId);
      server.handleUpgrade(request, socket, head, (opened) => accept(opened, request, requestId));
    },
    async [Symbol.asyncDispose]() {
      isStopping = true;
      stopChecks();
      await closeAll(connections);
    },
  };
}

/** Closes connections with revoked credentials, stalled clients or missing pongs. Returns a function that stops it. */
function startChecks(connections: ReadonlySet<Connection>): () => void {
  const { revalidateIntervalMs, pingIntervalMs } = subscriptionLimits;
  const revalidateOnce = singleFlight(() => revalidateAll(connections));
  const checkTimer = setInterval(() => {
    void revalidateOnce();
    for (const connection of connections) connection.checkBackpressure();
  }, revalidateIntervalMs).unref();
  const pingTimer = setInterval(() => {
    for (const connection of connections) connection.ping();
  }, pingIntervalMs).unref();
  return () => {
    clearInterval(checkTimer);
    clearInterval(pingTimer);
  };
}

function limitRejection(connections: ReadonlySet<Connection>, clientIp: string): HandshakeRejection | null {
  const {
    connections: max,
    unauthenticated: maxUnauthenticated,
    unauthenticatedPerAddress,
  } = subscriptionLimits;
  const unauthenticated = [...connections].filter(({ authentication }) => authentication === null);
  if (connections.size >= max || unauthenticated.length >= maxUnauthenticated)
    return { status: 503, message: "Too many WebSockets are open. Try again shortly" };
  const network = networkOf(clientIp);
  const sameNetwork = unauthenticated.filter(({ ipAddress }) => networkOf(ipAddress) === network);
  if (sameNetwork.length < unauthenticatedPerAddress) return null;
  const message =
    "Too many unauthenticated WebSockets from this IP address. Send connection_init, and try again shortly";
  return { status: 503, message };
}

function createWebSocketServer(): WebSocketServer {
  const options = {
    noServer: true,
    clientTracking: false,
    maxPayload: subscriptionLimits.maxMessageBytes,
    // Compression costs memory per connection and allows decompression bombs, and events are small.
    perMessageDeflate: false,
    handleProtocols,
    closeTimeout: subscriptionLimits.closeTimeoutMs,
  };
  return new WebSocketServer(options);
}

async function closeAll(connections: ReadonlySet<Connection>): Promise<void> {
  const allClosed = (): Promise<unknown> => Promise.all([...connections].map(({ closed }) => closed));
  for (const connection of connections) connection.close(closeCodes.goingAway, "The server is stopping");
  await withTimeout(allClosed(), subscriptionLimits.stopTimeoutMs);
  for (const connection of connections) connection.terminate();
  await allClosed();
}
