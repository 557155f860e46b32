/** What Prometheus reads of the webhooks. */
import { Counter, Gauge, Histogram, type Registry } from "prom-client";
import type { DispatcherMetrics } from "./dispatcher.ts";
import type { QueueStats } from "../deliveries/queue-stats.ts";

export interface WebhookMetrics extends DispatcherMetrics {
  /** As last seen. */
  setQueueStats(state: QueueStats): void;
}

export function createWebhookMetrics(registry: Registry, inFlight: () => number): WebhookMetrics {
  const registers = [registry];
  const attempts = new Histogram({
    name: "waymark_webhook_attempt_duration_seconds",
    help: "Attempts by how they ended (delivered, http_NNN, timeout, dns, ...) and how long they took",
    labelNames: ["outcome"] as const,
    buckets: [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15],
    registers,
  });
  const claims = new Histogram({
    name: "waymark_webhook_claim_duration_seconds",
    help: "Time of the statement that records what has ended and claims what is due",
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5],
    registers,
  });
  const reclaimed = new Counter({
    name: "waymark_webhook_leases_reclaimed_total",
    help: "Deliveries taken over from a worker that died or was too slow",
    registers,
  });
  const oldestDueAge = new Gauge({
    name: "waymark_webhook_oldest_due_age_seconds",
    help: "How long the delivery that has been due longest has waited",
    registers,
  });
  const onHold = new Gauge({
    name: "waymark_webhook_deliveries_on_hold",
    help: "Deliveries that wait for an endpoint that is paused, disabled or suspended",
    registers,
  });
  const inFlightGauge: Gauge = new Gauge({
    name: "waymark_webhook_deliveries_in_flight",
    help: "Deliveries on their way",
    registers,
    collect: () => inFlightGauge.set(inFlight()),
  });
  return {
    observeAttempt: (outcome, seconds) => attempts.observe({ outcome }, seconds),
    observeClaim: (seconds) => claims.observe(seconds),
    countReclaimed: (count) => reclaimed.inc(count),
    setQueueStats(state) {
      oldestDueAge.set(state.oldestDueAgeS);
      onHold.set(state.onHold);
    },
  };
}
