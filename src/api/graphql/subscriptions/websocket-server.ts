/**
 * GraphQL subscriptions over WebSocket (graphql-transport-ws), with the same authentication, visibility and limits as over
 * HTTP, and limits on open connections.
 */
import type { IncomingMessage } from "node:http";
import express, { type Request } from "express";
import { handleProtocols } from "graphql-ws";
import type { Registry } from "prom-client";
import { WebSocketServer, type VerifyClientCallbackAsync, type WebSocket } from "ws";
import { singleFlight } from "../../../core/concurrency/single-flight.ts";
import { createHostCheck, type HostCheckOptions } from "../../../core/host-check.ts";
import { newRequestId } from "../../../core/ids.ts";
import type { Logger } from "../../../core/logger.ts";
import { networkOf } from "../../../core/network.ts";
import type { WebSocketHandler } from "../../server/server.ts";
import type { ErrorFormatter } from "../execution/error-formatter.ts";
import { revalidateAll } from "./authenticate.ts";
import { Connection } from "./connection.ts";
import { closeCodes, subscriptionLimits } from "./limits.ts";
import { createSubscriptionMetrics } from "./metrics.ts";
import { createProtocol, type ProtocolDeps } from "./protocol.ts";

interface OriginPolicy {
  graphqlOrigins: readonly string[];
  publicUrl: string | null;
}

interface SubscriptionServerDeps extends Omit<ProtocolDeps, "connections" | "metrics"> {
  path: string;
  logger: Logger;
  registry: Registry;
  environment: string;
  http: OriginPolicy & HostCheckOptions["http"] & { trustProxy: number | readonly string[] };
}

const rejectionCodes = { 400: "BAD_REQUEST", 403: "FORBIDDEN", 503: "SERVICE_UNAVAILABLE" } as const;

interface HandshakeRejection {
  status: keyof typeof rejectionCodes;
  message: string;
}

type HandshakeResponse = Parameters<VerifyClientCallbackAsync>[1];

/** Disposing rejects new connections and closes all open ones within a few seconds. */
export function createSubscriptionServer(deps: SubscriptionServerDeps): WebSocketHandler {
  const { logger, http, path, errors } = deps;
  const clientIpOf = createClientIpResolver(http.trustProxy);
  const connections = new Set<Connection>();
  const metrics = createSubscriptionMetrics(deps.registry, connections);
  const serve = createProtocol({ ...deps, connections, metrics });
  const stopChecks = startChecks(connections);
  const requestIds = new WeakMap<IncomingMessage, string>();
  const checkNames = createNameCheck(deps);
  let isStopping = false;

  const options = {
    noServer: true,
    clientTracking: false,
    maxPayload: subscriptionLimits.maxMessageBytes,
    // Compression costs memory per connection and allows decompression bombs, and events are small.
    perMessageDeflate: false,
    handleProtocols,
    closeTimeout: subscriptionLimits.closeTimeoutMs,
    verifyClient: ({ req: request }: { req: IncomingMessage }, respond: HandshakeResponse): void => {
      const requestId = newRequestId();
      requestIds.set(request, requestId);
      const rejection = isStopping
        ? ({ status: 503, message: "The server is stopping" } as const)
        : (checkNames(request) ?? limitRejection(connections, clientIpOf(request)));
      if (!rejection) return respond(true);
      metrics.handshakeRejected(rejection.status);
      logger.info({ request_id: requestId, ...rejection }, "websocket handshake rejected");
      sendRejection(respond, rejection, { requestId, errors });
    },
  };
  const server = new WebSocketServer(options);
  server.on("headers", (headers, request) => headers.push(`X-Request-Id: ${requestIds.get(request)}`));

  const accept = (socket: WebSocket, upgradeRequest: IncomingMessage): void => {
    const requestId = requestIds.get(upgradeRequest) as string;
    const ipAddress = clientIpOf(upgradeRequest);
    const connection = new Connection(socket, { upgradeRequest, requestId, ipAddress, logger });
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
    upgrade: (request, socket, head) => server.handleUpgrade(request, socket, head, accept),
    async [Symbol.asyncDispose]() {
      isStopping = true;
      stopChecks();
      for (const connection of connections) connection.close(closeCodes.goingAway, "The server is stopping");
      // `closeTimeout` ends those that do not answer.
      await Promise.all([...connections].map(({ closed }) => closed));
    },
  };
}

/** Returns a function that checks the Host and Origin headers. */
function createNameCheck(
  deps: SubscriptionServerDeps,
): (request: IncomingMessage) => HandshakeRejection | null {
  const checkHost = createHostCheck(deps);
  const isOriginAllowed = createOriginCheck(deps.http);
  return (request) => {
    const hostProblem = checkHost(request);
    if (hostProblem !== null) return { status: 400, message: hostProblem };
    const message = "Pages of this origin cannot open WebSockets";
    return isOriginAllowed(request) ? null : { status: 403, message };
  };
}

function sendRejection(
  respond: HandshakeResponse,
  { status, message }: HandshakeRejection,
  { requestId, errors }: { requestId: string; errors: ErrorFormatter },
): void {
  const extensions = errors.commonExtensions(rejectionCodes[status], requestId);
  respond(false, status, JSON.stringify({ errors: [{ message, extensions }] }), {
    "Content-Type": "application/json; charset=utf-8",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
    "X-Request-Id": requestId,
    ...(status === 503 && { "Retry-After": "1" }),
  });
}

/** Closes connections with revoked credentials or missing pongs. Returns a function that stops it. */
function startChecks(connections: ReadonlySet<Connection>): () => void {
  const { revalidateIntervalMs, pingIntervalMs } = subscriptionLimits;
  const revalidateOnce = singleFlight(() => revalidateAll(connections));
  const checkTimer = setInterval(() => void revalidateOnce(), revalidateIntervalMs).unref();
  const pingTimer = setInterval(() => {
    for (const connection of connections) connection.ping();
  }, pingIntervalMs).unref();
  return () => {
    clearInterval(checkTimer);
    clearInterval(pingTimer);
  };
}

function limitRejection(connections: ReadonlySet<Connection>, clientIp: string): HandshakeRejection | null {
  const { connections: max, unauthenticated: maxOpen, unauthenticatedPerAddress } = subscriptionLimits;
  const unauthenticated = [...connections].filter(({ principal }) => principal === null);
  if (connections.size >= max || unauthenticated.length >= maxOpen)
    return { status: 503, message: "Too many WebSockets are open. Try again shortly" };
  const network = networkOf(clientIp);
  const sameNetwork = unauthenticated.filter(({ options }) => networkOf(options.ipAddress) === network);
  if (sameNetwork.length < unauthenticatedPerAddress) return null;
  const message =
    "Too many unauthenticated WebSockets from this IP address. Send connection_init, and try again shortly";
  return { status: 503, message };
}

/**
 * Returns a function that is true if the Origin header is absent (no browser), this server's own origin or an allowed CORS
 * origin. Session cookies have stricter rules: see authenticate.ts.
 */
export function createOriginCheck({
  graphqlOrigins,
  publicUrl,
}: OriginPolicy): (request: IncomingMessage) => boolean {
  const allowed = new Set(graphqlOrigins);
  if (publicUrl !== null) allowed.add(new URL(publicUrl).origin);
  return ({ headers: { origin, host } }) => {
    if (origin === undefined || allowed.has(origin)) return true;
    return URL.canParse(origin) && host !== undefined && new URL(origin).host === host.toLowerCase();
  };
}

/** Returns a function that returns the client's IP address as Express does. `trustProxy` is its setting "trust proxy". */
export function createClientIpResolver(
  trustProxy: number | readonly string[],
): (request: IncomingMessage) => string {
  const app = express().set("trust proxy", trustProxy);
  return ({ headers, socket }) => {
    const request = Object.assign(Object.create(app.request) as Request, { app, headers, socket });
    return request.ip ?? "";
  };
}
