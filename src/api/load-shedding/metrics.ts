/** Metrics of load shedding, and a log line when an overload begins and ends. */
import { Counter, Gauge, type Registry } from "prom-client";
import type { Logger } from "../../core/logger.ts";

export interface LoadSheddingMetricsDeps {
  logger: Logger;
  registry: Registry;
}

interface LimitState {
  readonly inFlight: number;
  readonly limit: number;
}

/** In the log, an overload ends when no request was rejected for this long. */
const RECOVERED_AFTER_MS = 10_000;

export class LoadSheddingMetrics {
  readonly #state: LimitState;
  readonly #logger: Logger;
  readonly #rejections: Counter;
  #overload = { sinceMs: 0, lastMs: 0, rejected: 0 };
  /** True from the log line about the start of an overload until the one about its end. */
  isOverloadLogged = false;

  constructor(state: LimitState, { logger, registry }: LoadSheddingMetricsDeps) {
    this.#state = state;
    this.#logger = logger;
    this.#rejections = registerMetrics(state, registry);
  }

  onReject(nowMs: number): void {
    this.#rejections.inc();
    if (!this.isOverloadLogged) {
      this.isOverloadLogged = true;
      this.#overload = { sinceMs: nowMs, lastMs: nowMs, rejected: 0 };
      const { inFlight, limit } = this.#state;
      this.#logger.warn({ in_flight: inFlight, limit }, "overloaded: rejecting requests");
    }
    this.#overload.lastMs = nowMs;
    this.#overload.rejected += 1;
  }

  /** Logs the end of the overload if no request was rejected lately. Call it for each request while `isOverloadLogged`. */
  logIfOver(nowMs: number): void {
    const { sinceMs, lastMs, rejected } = this.#overload;
    if (nowMs - lastMs < RECOVERED_AFTER_MS) return;
    this.isOverloadLogged = false;
    this.#logger.info({ rejected, duration_ms: Math.round(lastMs - sinceMs) }, "no longer overloaded");
  }
}

/** Returns the counter of rejections. */
function registerMetrics(state: LimitState, registry: Registry): Counter {
  const rejections = new Counter({
    name: "waymark_http_requests_shed_total",
    help: "Requests rejected with 503 because the server was overloaded",
    registers: [registry],
  });
  const limit = createGauge(
    "waymark_http_concurrency_limit",
    "Current limit of concurrent requests",
    () => state.limit,
  );
  const inUse = createGauge(
    "waymark_http_concurrency_in_use",
    "Requests in flight, except those waiting for their clients",
    () => state.inFlight,
  );
  for (const gauge of [limit, inUse]) registry.registerMetric(gauge);
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
