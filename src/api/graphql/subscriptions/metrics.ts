/** Prometheus metrics of WebSocket connections and subscriptions. */
import { Counter, Gauge, type Registry } from "prom-client";
import type { Connection } from "./connection.ts";

export type SubscriptionMetrics = ReturnType<typeof createSubscriptionMetrics>;

export function createSubscriptionMetrics(registry: Registry, open: ReadonlySet<Connection>) {
  const registers = [registry];
  const connections: Gauge = new Gauge({
    name: "waymark_websocket_connections",
    help: "Open WebSocket connections",
    registers,
    collect: () => connections.set(open.size),
  });
  const subscriptions: Gauge = new Gauge({
    name: "waymark_graphql_subscriptions",
    help: "Active GraphQL subscriptions",
    registers,
    collect: () => subscriptions.set(open.values().reduce((sum, each) => sum + each.active, 0)),
  });
  const events = new Counter({
    name: "waymark_graphql_subscription_events_total",
    help: "Events sent to GraphQL subscriptions",
    registers,
  });
  const closes = new Counter({
    name: "waymark_websocket_closes_total",
    help: "Closed WebSocket connections, by the server's close code, or client if the client closed",
    labelNames: ["code"] as const,
    registers,
  });
  const handshakeRejections = new Counter({
    name: "waymark_websocket_handshakes_rejected_total",
    help: "Rejected WebSocket handshakes, by HTTP status",
    labelNames: ["status"] as const,
    registers,
  });
  return {
    eventSent: () => events.inc(),
    /** `code` is the server's close code, or `client` if the client closed the connection. */
    connectionClosed: (code: number | "client") => closes.inc({ code: String(code) }),
    handshakeRejected: (status: number) => handshakeRejections.inc({ status: String(status) }),
  };
}
