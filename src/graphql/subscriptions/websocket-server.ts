/**
 * GraphQL subscriptions over WebSocket (graphql-transport-ws), with the same authentication, visibility and limits as over
 * HTTP, and limits on open connections.
 */
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { handleProtocols } from "graphql-ws";
import type { Registry } from "prom-client";
import { WebSocketServer, type WebSocket } from "ws";
import { newRequestId } from "../../platform/ids.ts";
import { networkOf } from "../../platform/network.ts";
import { createCredentialResolver, type CredentialDeps } from "./connection-credentials.ts";
import {
  createClientIpResolver,
  createOriginCheck,
  rejectUpgrade,
  type HandshakeRejection,
} from "./websocket-handshake.ts";
import { closeCodes, subscriptionLimits } from "./limits.ts";
import { createSubscriptionMetrics } from "./metrics.ts";
import { createProtocol, type ProtocolDeps } from "./protocol.ts";
import { WebSocketConnection } from "./websocket-connection.ts";
import { createConnectionMonitor } from "./connection-monitor.ts";

export interface SubscriptionServerDeps<Context extends object>
  extends ProtocolDeps<Context>, CredentialDeps {
  registry: Registry;
  http: {
    publicUrl: string | null;
    graphqlOrigins: readonly string[];
    trustProxy: number | readonly string[];
  };
}

/** Disposing rejects new connections and closes all open ones within a few seconds. */
export interface SubscriptionServer extends AsyncDisposable {
  readonly path: string;
  /** Accepts the handshake, or rejects it with an HTTP response. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void;
}

const PATH = "/graphql";
const TOO_MANY_UNAUTHENTICATED =
  "Too many unauthenticated WebSockets from this IP address. Send connection_init, and try again shortly";

export function createSubscriptionServer<Context extends object>(
  deps: SubscriptionServerDeps<Context>,
): SubscriptionServer {
  const { logger, http } = deps;
  const isOriginAllowed = createOriginCheck(http);
  const clientIpOf = createClientIpResolver(http.trustProxy);
  const connections = new Set<WebSocketConnection>();
  const metrics = createSubscriptionMetrics(deps.registry, () => connections.size);
  const monitor = createConnectionMonitor(connections);
  const serve = createProtocol(deps, { monitor, metrics, resolveCredential: createCredentialResolver(deps) });
  const server = createWebSocketServer();
  const requestIds = new WeakMap<IncomingMessage, string>();
  server.on("headers", (headers, request) => headers.push(`X-Request-Id: ${requestIds.get(request)}`));
  let isStopping = false;

  const rejectionFor = (request: IncomingMessage): HandshakeRejection | null => {
    if (isStopping) return { status: 503, message: "The server is stopping" };
    if (!isOriginAllowed(request))
      return { status: 403, message: "Pages of this origin cannot open WebSockets" };
    return limitRejection(connections, clientIpOf(request));
  };

  const accept = (socket: WebSocket, request: IncomingMessage, requestId: string): void => {
    const connection = new WebSocketConnection(socket, {
      request,
      requestId,
      logger,
      ipAddress: clientIpOf(request),
    });
    connections.add(connection);
    const onClose = serve(connection);
    socket.once("close", (code, reason) => {
      connections.delete(connection);
      metrics.connectionClosed(connection.closeCode ?? "client");
      onClose(code, reason.toString());
    });
  };

  return {
    path: PATH,
    upgrade(request, socket, head) {
      const requestId = newRequestId();
      const rejection = rejectionFor(request);
      if (rejection) {
        metrics.handshakeRejected(rejection.status);
        logger.info({ request_id: requestId, ...rejection }, "websocket handshake rejected");
        rejectUpgrade(socket, rejection, requestId);
        return;
      }
      requestIds.set(request, requestId);
      server.handleUpgrade(request, socket, head, (opened) => accept(opened, request, requestId));
    },
    async [Symbol.asyncDispose]() {
      isStopping = true;
      monitor[Symbol.dispose]();
      await closeAll(connections);
    },
  };
}

function limitRejection(
  connections: ReadonlySet<WebSocketConnection>,
  clientIp: string,
): HandshakeRejection | null {
  const unauthenticated = [...connections].filter(({ authentication }) => authentication === null);
  const { unauthenticatedPerAddress } = subscriptionLimits;
  if (
    connections.size >= subscriptionLimits.connections ||
    unauthenticated.length >= subscriptionLimits.unauthenticated
  )
    return { status: 503, message: "Too many WebSockets are open. Try again shortly" };
  const network = networkOf(clientIp);
  const sameNetwork = unauthenticated.filter(({ ipAddress }) => networkOf(ipAddress) === network);
  return sameNetwork.length >= unauthenticatedPerAddress
    ? { status: 503, message: TOO_MANY_UNAUTHENTICATED }
    : null;
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

async function closeAll(connections: ReadonlySet<WebSocketConnection>): Promise<void> {
  for (const connection of connections) connection.close(closeCodes.goingAway, "The server is stopping");
  const { promise: timeout, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, subscriptionLimits.stopTimeoutMs);
  await Promise.race([timeout, Promise.all([...connections].map((connection) => connection.closed))]);
  clearTimeout(timer);
  const remaining = [...connections];
  for (const connection of remaining) connection.terminate();
  await Promise.all(remaining.map((connection) => connection.closed));
}
