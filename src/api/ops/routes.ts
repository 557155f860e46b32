/** Liveness, readiness and metrics, for operators. */
import type { RequestListener } from "node:http";
import { Router, type RequestHandler } from "express";
import type { Registry } from "prom-client";
import type { Config } from "../../config/config.ts";
import type { Metrics } from "../../core/metrics.ts";
import { singleFlight } from "../../core/concurrency/single-flight.ts";
import { addRoute } from "../add-route.ts";
import { checkAll, registerDependencyMetrics, type Dependency } from "./dependencies.ts";

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
  const add = (path: string, handler: RequestHandler): void => addRoute(router, path, { get: [handler] });
  registerDependencyMetrics(registry, dependencies);
  // Public and never rejected, so concurrent requests share one collection.
  const collect = singleFlight(() => registry.metrics());
  if (config.http.metricsPort === null)
    add("/metrics", async (_request, response) => {
      // Compressing the metrics would cost more CPU than collecting them.
      response.setHeader("Cache-Control", "no-store, no-transform");
      response.type(registry.contentType).send(await collect());
    });
  add("/health/live", (_request, response) => void response.json({ status: "live" }));
  add("/health/ready", async (_request, response) => {
    const checked = await checkAll(dependencies);
    const isServing = checked.every(({ isRequired, problem }) => !isRequired || problem === null);
    const isReady = isServing && !stopping.aborted;
    response.status(isReady ? 200 : 503).json({
      status: isReady ? "ready" : stopping.aborted ? "stopping" : "not_ready",
      dependencies: Object.fromEntries(checked.map(({ name, problem }) => [name, toHealth(problem)])),
    });
  });
  return router;
}

function toHealth(problem: string | null): object {
  return problem === null ? { status: "up" } : { status: "down", message: problem };
}

/**
 * Returns a listener that serves only GET and HEAD of `/metrics`, for METRICS_PORT: publishing the API must not publish the
 * metrics.
 */
export function metricsListener(registry: Registry): RequestListener {
  return (request, response) => {
    const isRead = request.method === "GET" || request.method === "HEAD";
    if (request.url !== "/metrics" || !isRead) {
      response.writeHead(isRead ? 404 : 405).end();
      return;
    }
    registry.metrics().then(
      (text) => response.writeHead(200, { "Content-Type": registry.contentType }).end(text),
      () => response.writeHead(500).end(),
    );
  };
}
