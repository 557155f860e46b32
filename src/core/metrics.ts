/** Prometheus metrics, one registry per app. */
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from "prom-client";

export type Metrics = ReturnType<typeof createMetrics>;

export function createMetrics(pool: () => { total: number; idle: number; waiting: number }) {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  const connections = new Gauge({
    name: "waymark_db_pool_connections",
    help: "PostgreSQL connections of this process by state (total, idle), and requests waiting for one (waiting)",
    labelNames: ["state"] as const,
    registers,
    collect() {
      for (const [state, count] of Object.entries(pool())) connections.set({ state }, count);
    },
  });
  return {
    registry,
    requestDuration: new Histogram({
      name: "waymark_http_request_duration_seconds",
      help: "Time from a request's first byte to its response's last byte, by route and status",
      labelNames: ["method", "route", "status"] as const,
      buckets: [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
      registers,
    }),
    simulatedRequests: new Counter({
      name: "waymark_http_requests_simulated_total",
      help: "Requests of test keys with a simulated failure, which waymark_http_request_duration_seconds does not count",
      labelNames: ["simulation"] as const,
      registers,
    }),
    requestsInFlight: new Gauge({
      name: "waymark_http_requests_in_flight",
      help: "Requests in flight",
      registers,
    }),
    connectionsRejected: new Counter({
      name: "waymark_http_connections_rejected_total",
      help: "Connections closed on arrival because of a connection limit: in total (total) or of one IP address (ip_address)",
      labelNames: ["limit"] as const,
      registers,
    }),
    trimmedIdempotencyRecords: new Counter({
      name: "waymark_idempotency_records_trimmed_total",
      help: "Idempotency records deleted before their 24 hours had passed, because their organisation stored too many",
      registers,
    }),
    feedLag: new Gauge({
      name: "waymark_feed_lag_seconds",
      help: "Age of the oldest event that the feed and subscriptions withhold because of an open transaction; 0 if none",
      registers,
    }),
    compactedJobCounterDeltas: new Counter({
      name: "waymark_job_counter_deltas_compacted_total",
      help: "Recorded changes of job counts that were added to the counters and deleted",
      registers,
    }),
  };
}
