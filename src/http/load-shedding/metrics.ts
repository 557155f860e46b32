/** What operators see of overload: figures, a line in the log when it begins, and one when it is over. */
import { Counter, Gauge, type Registry } from "prom-client";
import type { Logger } from "../../platform/logger.ts";
import type { ConcurrencyLimit } from "./concurrency-limit.ts";
import type { RejectionReason } from "./in-flight-requests.ts";

export interface LoadSheddingMetrics {
  onReject(reason: RejectionReason): void;
  /** To be called now and then. */
  update(nowMs: number): void;
}

/** Overload is over when nobody was refused for so long. */
const RECOVERED_AFTER_MS = 10_000;

export function createLoadSheddingMetrics(
  limit: ConcurrencyLimit,
  { logger, registry }: { logger: Logger; registry: Registry },
): LoadSheddingMetrics {
  const rejections = registerMetrics(limit, registry);
  let episode: { sinceMs: number; lastMs: number; refused: number } | null = null;
  return {
    onReject(reason) {
      rejections[reason] += 1;
      const nowMs = performance.now();
      if (!episode) {
        episode = { sinceMs: nowMs, lastMs: nowMs, refused: 0 };
        logger.warn(
          { in_flight: limit.inFlight, limit: limit.limit, reason },
          "overloaded: requests are refused",
        );
      }
      episode.lastMs = nowMs;
      episode.refused += 1;
    },
    update(nowMs) {
      if (!episode || nowMs - episode.lastMs < RECOVERED_AFTER_MS) return;
      const { sinceMs, lastMs, refused } = episode;
      episode = null;
      logger.info({ refused, duration_ms: Math.round(lastMs - sinceMs) }, "no longer overloaded");
    },
  };
}

function registerMetrics(limit: ConcurrencyLimit, registry: Registry): Record<RejectionReason, number> {
  const rejections = { capacity: 0, share: 0 };
  const registers = [registry];
  const rejectedCounter = new Counter({
    name: "waymark_http_requests_shed_total",
    help: "Requests refused with 503 since the server was overloaded, by reason",
    labelNames: ["reason"] as const,
    registers,
    // Counted beside it: a counter with labels costs more than the rest of a refusal's bookkeeping.
    collect() {
      this.reset();
      for (const [reason, count] of Object.entries(rejections)) rejectedCounter.inc({ reason }, count);
    },
  });
  registry.registerMetric(
    createGauge(
      "waymark_http_concurrency_limit",
      "Requests that may be in work at once, as found at the last look",
      () => limit.limit,
    ),
  );
  registry.registerMetric(
    createGauge(
      "waymark_http_concurrency_in_use",
      "Requests that wait for the server, and not for their clients",
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
