/** The worker's Prometheus metrics. */
import { Counter, Gauge, Histogram, type Registry } from "prom-client";

export type DeliveryMetrics = ReturnType<typeof createDeliveryMetrics>;

/** Registers the metrics. `inFlight` returns the deliveries in flight in this process. */
export function createDeliveryMetrics(registry: Registry, inFlight: () => number) {
  const registers = [registry];
  const attempts = new Histogram({
    name: "waymark_webhook_attempt_duration_seconds",
    help: "Duration of delivery attempts to live endpoints by outcome (delivered, http_4xx, timeout, dns, ...)",
    labelNames: ["outcome"] as const,
    buckets: [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15],
    registers,
  });
  const responses = new Counter({
    name: "waymark_webhook_responses_total",
    help: "Responses of live endpoints by HTTP status code",
    labelNames: ["status"] as const,
    registers,
  });
  const claims = new Histogram({
    name: "waymark_webhook_claim_duration_seconds",
    help: "Duration of a claim, which records finished deliveries and leases due ones",
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5],
    registers,
  });
  const reclaimed = new Counter({
    name: "waymark_webhook_leases_reclaimed_total",
    help: "Deliveries whose lease expired because a worker died or was too slow",
    registers,
  });
  const oldestDueAge = new Gauge({
    name: "waymark_webhook_oldest_due_age_seconds",
    help: "Time for which the oldest due delivery to a live endpoint has been due; 0 if none is",
    registers,
  });
  const onHold = new Gauge({
    name: "waymark_webhook_deliveries_on_hold",
    help: "Pending deliveries of live endpoints that are paused, disabled or suspended",
    registers,
  });
  const inFlightGauge: Gauge = new Gauge({
    name: "waymark_webhook_deliveries_in_flight",
    help: "Deliveries in flight in this process",
    registers,
    collect: () => inFlightGauge.set(inFlight()),
  });
  return { attempts, responses, claims, reclaimed, oldestDueAge, onHold };
}
