/** Liveness, readiness and metrics, for operators. */
import type { RequestListener } from "node:http";
import { Router, type RequestHandler } from "express";
import type { Registry } from "prom-client";
import type { Config } from "../../config/config.ts";
import type { Metrics } from "../../core/metrics.ts";
import { singleFlight } from "../../core/concurrency/single-flight.ts";
import { addRoute } from "../add-route.ts";
import { registerDependencyMetrics, type Dependency } from "./dependencies.ts";

export interface OpsServices {
  config: Pick<Config, "http">;
  dependencies: readonly Dependency[];
  metrics: Metrics;
  /** Aborted once the server is stopping. */
  stopping: AbortSignal;
}

export function opsRoutes({ config, dependencies, metrics, stopping }: OpsServices): Router {
  const router = Router({ caseSensitive: true });
  const { registry } = metrics;
  const add = (path: string, handler: RequestHandler): void =>
    addRoute(router, { path, name: path }, { get: [handler] });
  registerDependencyMetrics(registry, dependencies);
  if (config.http.metricsPort === null) add("/metrics", sendMetrics(registry));
  add("/health/live", (_request, response) => void response.json({ status: "live" }));
  add("/health/ready", async (_request, response) => {
    const checks = await Promise.all(
      dependencies.map(async ({ check, ...dependency }) => ({ ...dependency, health: await check() })),
    );
    const isServing = checks.every(({ isRequired, health }) => !isRequired || health.status === "up");
    const isReady = isServing && !stopping.aborted;
    response.status(isReady ? 200 : 503).json({
      status: isReady ? "ready" : stopping.aborted ? "stopping" : "not_ready",
      dependencies: Object.fromEntries(checks.map(({ name, health }) => [name, health])),
    });
  });
  return router;
}

/** Concurrent requests share one collection. */
function createCollector(registry: Registry): () => Promise<string> {
  return singleFlight(() => registry.metrics());
}

function sendMetrics(registry: Registry): RequestHandler {
  const collect = createCollector(registry);
  return async (_request, response) => {
    // Compressing the metrics would cost more CPU than collecting them.
    response.setHeader("Cache-Control", "no-store, no-transform");
    response.type(registry.contentType).send(await collect());
  };
}

/**
 * Returns a listener that serves only GET and HEAD of `/metrics`, for METRICS_PORT: publishing the API must not publish the
 * metrics.
 */
export function metricsListener(registry: Registry): RequestListener {
  const collect = createCollector(registry);
  return (request, response) => {
    const isRead = request.method === "GET" || request.method === "HEAD";
    if (request.url !== "/metrics" || !isRead) {
      response.writeHead(isRead ? 404 : 405).end();
      return;
    }
    collect().then(
      (text) => response.writeHead(200, { "Content-Type": registry.contentType }).end(text),
      () => response.writeHead(500).end(),
    );
  };
}
