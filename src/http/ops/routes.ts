/** Liveness, readiness and metrics, for operators. */
import { Router } from "express";
import type { Registry } from "prom-client";
import type { Config } from "../../config/config.ts";
import type { Metrics } from "../../platform/metrics.ts";
import { singleFlight } from "../../platform/concurrency/single-flight.ts";
import { contextOf } from "../context.ts";
import { methodNotAllowed } from "../error-handler.ts";
import type { Dependency } from "./dependencies.ts";
import { registerDependencyMetrics } from "./dependency-metrics.ts";

export interface OpsServices {
  config: Pick<Config, "http">;
  dependencies: readonly Dependency[];
  metrics: Metrics;
  /** True once the server is stopping. */
  isStopping: () => boolean;
}

export function opsRoutes({ config, dependencies, metrics, isStopping }: OpsServices): Router {
  const router = Router({ caseSensitive: true });
  const { registry } = metrics;
  registerDependencyMetrics(registry, dependencies);
  if (config.http.metricsPort === null) router.use(metricsRoutes(registry));
  router
    .route("/health/live")
    .get((_request, response) => {
      contextOf(response).route = "/health/live";
      response.json({ status: "live" });
    })
    .all(methodNotAllowed("GET, HEAD"));
  router
    .route("/health/ready")
    .get(async (_request, response) => {
      contextOf(response).route = "/health/ready";
      const checks = await Promise.all(
        dependencies.map(async ({ check, ...dependency }) => ({ ...dependency, health: await check() })),
      );
      const isServing = checks.every(({ isRequired, health }) => !isRequired || health.status === "up");
      const isReady = isServing && !isStopping();
      response.status(isReady ? 200 : 503).json({
        status: isReady ? "ready" : isStopping() ? "stopping" : "not_ready",
        dependencies: Object.fromEntries(checks.map(({ name, health }) => [name, health])),
      });
    })
    .all(methodNotAllowed("GET, HEAD"));
  return router;
}

function metricsRoutes(registry: Registry): Router {
  const router = Router({ caseSensitive: true });
  const collectMetrics = singleFlight(() => registry.metrics(), { ttlMs: 0 });
  router
    .route("/metrics")
    .get(async (_request, response) => {
      contextOf(response).route = "/metrics";
      // Compressing the metrics would cost more CPU than collecting them.
      response.setHeader("Cache-Control", "no-store, no-transform");
      response.type(registry.contentType).send(await collectMetrics());
    })
    .all(methodNotAllowed("GET, HEAD"));
  return router;
}
