/** Metrics of load shedding, and a log line when an overload begins and ends. */
import { Counter, Gauge, type Registry } from "prom-client";
import type { Logger } from "../../platform/logger.ts";
import type { ConcurrencyLimit } from "./concurrency-limit.ts";
import type { RejectionReason } from "./in-flight-requests.ts";

export interface LoadSheddingMetrics {
  onReject(reason: RejectionReason): void;
  /** Logs the end of an overload. Call it periodically. */
  update(nowMs: number): void;
}

/** An overload ends when no request was rejected for this long. */
const RECOVERED_AFTER_MS = 10_000;

export function createLoadSheddingMetrics(
  limit: ConcurrencyLimit,
  { logger, registry }: { logger: Logger; registry: Registry },
): LoadSheddingMetrics {
  const rejections = registerMetrics(limit, registry);
  let episode: { sinceMs: number; lastMs: number; rejected: number } | null = null;
  return {
    onReject(reason) {
      rejections[reason] += 1;
      const nowMs = performance.now();
      if (!episode) {
        episode = { sinceMs: nowMs, lastMs: nowMs, rejected: 0 };
        logger.warn(
          { in_flight: limit.inFlight, limit: limit.limit, reason },
          "overloaded: rejecting requests",
        );
      }
      episode.lastMs = nowMs;
      episode.rejected += 1;
    },
    update(nowMs) {
      if (!episode || nowMs - episode.lastMs < RECOVERED_AFTER_MS) return;
      const { sinceMs, lastMs, rejected } = episode;
      episode = null;
      logger.info({ rejected, duration_ms: Math.round(lastMs - sinceMs) }, "no longer overloaded");
    },
  };
}

function registerMetrics(limit: ConcurrencyLimit, registry: Registry): Record<RejectionReason, number> {
  const rejections = { capacity: 0, per_key: 0 };
  const registers = [registry];
  const rejectedCounter = new Counter({
    name: "waymark_http_requests_shed_total",
    help: "Requests rejected with 503 because the server was overloaded, by reason",
    labelNames: ["reason"] as const,
    registers,
    // Counted in plain variables, because incrementing a labelled counter costs more than the whole rejection.
    collect() {
      this.reset();
      for (const [reason, count] of Object.entries(rejections)) rejectedCounter.inc({ reason }, count);
    },
  });
  registry.registerMetric(
    createGauge("waymark_http_concurrency_limit", "Current limit of concurrent requests", () => limit.limit),
  );
  registry.registerMetric(
    createGauge(
      "waymark_http_concurrency_in_use",
      "Requests in flight, except those waiting for their clients",
      () => limit.inFlight,
    ),
  );
  return rejections;
}

function createGauge(name: string, help: string, valueOf: () => number): Gauge {
  return new Gauge({
    name,
    help,
    registers: [],
    collect() {
      this.set(valueOf());
    },
  });
}
