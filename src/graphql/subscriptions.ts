/**
 * Subscriptions over WebSocket, by the protocol graphql-transport-ws: the same keys, sessions, visibility and limits as over HTTP,
 * kept up for as long as a socket lives, and bounds on whatever a client can hold open.
 */
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { handleProtocols } from "graphql-ws";
import type { Registry } from "prom-client";
import { WebSocketServer, type WebSocket } from "ws";
import { newRequestId } from "../platform/ids.ts";
import { networkOf } from "../platform/network.ts";
import { createCredentials, type CredentialParts } from "./credential.ts";
import { createAddressRule, createOriginRule, refuse, type Refusal } from "./subscription-door.ts";
import { closeCodes, subscriptionLimits } from "./subscription-limits.ts";
import { createSubscriptionMetrics } from "./subscription-metrics.ts";
import { createProtocol, type ProtocolParts } from "./subscription-protocol.ts";
import { LiveSocket } from "./subscription-socket.ts";
import { createVigil } from "./subscription-vigil.ts";

export interface SubscriptionParts<Context extends object> extends ProtocolParts<Context>, CredentialParts {
  registry: Registry;
  http: {
    publicUrl: string | null;
    graphqlOrigins: readonly string[];
    trustProxy: number | readonly string[];
  };
}

/** As the HTTP server takes them. Disposing takes no more, tells everybody to go, and is done within seconds. */
export interface Subscriptions extends AsyncDisposable {
  readonly path: string;
  /** Takes the connection over, or answers with why not. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void;
}

const PATH = "/graphql";
const TOO_MANY_STRANGERS =
  "Too many WebSockets of this address have not said who they are. Send connection_init, and try again shortly";

export function createSubscriptions<Context extends object>(
  parts: SubscriptionParts<Context>,
): Subscriptions {
  const { logger, http } = parts;
  const mayOpen = createOriginRule(http);
  const addressOf = createAddressRule(http.trustProxy);
  const open = new Set<LiveSocket>();
  const metrics = createSubscriptionMetrics(parts.registry, () => open.size);
  const vigil = createVigil(open);
  const serve = createProtocol(parts, { vigil, metrics, credentialOf: createCredentials(parts) });
  const server = createWebSocketServer();
  const ids = new WeakMap<IncomingMessage, string>();
  server.on("headers", (headers, request) => headers.push(`X-Request-Id: ${ids.get(request)}`));
  let isStopping = false;

  const refusalOf = (request: IncomingMessage): Refusal | null => {
    const strangers = [...open].filter(({ caller }) => caller === null);
    if (isStopping) return { status: 503, message: "The server is stopping" };
    if (!mayOpen(request)) return { status: 403, message: "A page of this origin may not open a WebSocket" };
    if (open.size >= subscriptionLimits.sockets || strangers.length >= subscriptionLimits.strangers)
      return { status: 503, message: "Too many WebSockets are open. Try again shortly" };
    const network = networkOf(addressOf(request));
    const neighbours = strangers.filter((stranger) => networkOf(stranger.address) === network);
    if (neighbours.length >= subscriptionLimits.strangersPerAddress)
      return { status: 503, message: TOO_MANY_STRANGERS };
    return null;
  };

  const take = (socket: WebSocket, request: IncomingMessage, requestId: string): void => {
    const live = new LiveSocket(socket, { request, requestId, logger, address: addressOf(request) });
    open.add(live);
    const onClose = serve(live);
    socket.once("close", (code, reason) => {
      open.delete(live);
      metrics.closed(live.closedWith ?? "client");
      onClose(code, reason.toString());
    });
  };

  return {
    path: PATH,
    upgrade(request, socket, head) {
      const requestId = newRequestId();
      const refusal = refusalOf(request);
      if (refusal) {
        metrics.refused(refusal.status);
        logger.info({ request_id: requestId, ...refusal }, "a websocket was refused");
        refuse(socket, refusal, requestId);
        return;
      }
      ids.set(request, requestId);
      server.handleUpgrade(request, socket, head, (opened) => take(opened, request, requestId));
    },
    async [Symbol.asyncDispose]() {
      isStopping = true;
      vigil[Symbol.dispose]();
      await closeAll(open);
    },
  };
}

function createWebSocketServer(): WebSocketServer {
  const options = {
    noServer: true,
    clientTracking: false,
    maxPayload: subscriptionLimits.messageBytes,
    // Memory for each socket, and bombs; events are small.
    perMessageDeflate: false,
    handleProtocols,
    closeTimeout: subscriptionLimits.closeWithinMs,
  };
  return new WebSocketServer(options);
}

async function closeAll(open: ReadonlySet<LiveSocket>): Promise<void> {
  for (const live of open) live.close(closeCodes.goingAway, "The server is stopping");
  const { promise: late, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, subscriptionLimits.stopWithinMs);
  await Promise.race([late, Promise.all([...open].map((live) => live.ended))]);
  clearTimeout(timer);
  const rest = [...open];
  for (const live of rest) live.terminate();
  await Promise.all(rest.map((live) => live.ended));
}
