/** What Prometheus reads of subscriptions. */
import { Counter, Gauge, type Registry } from "prom-client";

export interface SubscriptionMetrics {
  began(): void;
  ended(): void;
  delivered(): void;
  /** `code`: with which the socket was closed from here, or `client`. */
  closed(code: number | "client"): void;
  refused(status: number): void;
}

export function createSubscriptionMetrics(
  registry: Registry,
  openSockets: () => number,
): SubscriptionMetrics {
  const registers = [registry];
  const sockets: Gauge = new Gauge({
    name: "waymark_subscription_sockets",
    help: "Open WebSockets",
    registers,
    collect: () => sockets.set(openSockets()),
  });
  const subscriptions = new Gauge({
    name: "waymark_subscriptions",
    help: "Subscriptions that stand",
    registers,
  });
  const events = new Counter({
    name: "waymark_subscription_events_total",
    help: "Events handed to subscriptions",
    registers,
  });
  const closes = new Counter({
    name: "waymark_subscription_closes_total",
    help: "WebSockets that ended, by the code that they were closed with from here, or client",
    labelNames: ["code"] as const,
    registers,
  });
  const refusals = new Counter({
    name: "waymark_subscription_refusals_total",
    help: "WebSockets that were refused before they opened, by HTTP status",
    labelNames: ["status"] as const,
    registers,
  });
  return {
    began: () => subscriptions.inc(),
    ended: () => subscriptions.dec(),
    delivered: () => events.inc(),
    closed: (code) => closes.inc({ code: String(code) }),
    refused: (status) => refusals.inc({ status: String(status) }),
  };
}
