/** What Prometheus reads of subscriptions. */
import { Counter, Gauge, type Registry } from "prom-client";

export interface SubscriptionMetrics {
  subscriptionStarted(): void;
  subscriptionEnded(): void;
  eventSent(): void;
  /** `code`: with which the socket was closed from here, or `client`. */
  connectionClosed(code: number | "client"): void;
  handshakeRejected(status: number): void;
}

export function createSubscriptionMetrics(
  registry: Registry,
  connectionCount: () => number,
): SubscriptionMetrics {
  const registers = [registry];
  const connections: Gauge = new Gauge({
    name: "waymark_websocket_connections",
    help: "Open WebSockets",
    registers,
    collect: () => connections.set(connectionCount()),
  });
  const subscriptions = new Gauge({
    name: "waymark_graphql_subscriptions",
    help: "Subscriptions that stand",
    registers,
  });
  const events = new Counter({
    name: "waymark_graphql_subscription_events_total",
    help: "Events handed to subscriptions",
    registers,
  });
  const closes = new Counter({
    name: "waymark_websocket_closes_total",
    help: "WebSockets that ended, by the code that they were closed with from here, or client",
    labelNames: ["code"] as const,
    registers,
  });
  const handshakeRejections = new Counter({
    name: "waymark_websocket_handshakes_rejected_total",
    help: "WebSockets that were refused before they opened, by HTTP status",
    labelNames: ["status"] as const,
    registers,
  });
  return {
    subscriptionStarted: () => subscriptions.inc(),
    subscriptionEnded: () => subscriptions.dec(),
    eventSent: () => events.inc(),
    connectionClosed: (code) => closes.inc({ code: String(code) }),
    handshakeRejected: (status) => handshakeRejections.inc({ status: String(status) }),
  };
}
