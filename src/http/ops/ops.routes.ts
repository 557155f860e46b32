/** For those who run the service: is it alive, is it ready, what do its figures say. */
import { Router } from "express";
import type { Queryable } from "../../platform/database.ts";
import type { Metrics } from "../../platform/metrics.ts";
import { sql } from "../../platform/sql.ts";
import { contextOf } from "../context.ts";
import { methodNotAllowed } from "../error-handler.ts";

export interface OpsServices {
  database: Queryable;
  metrics: Metrics;
  /** True from the moment the server begins to stop. */
  isStopping: () => boolean;
}

const CHECK_TIMEOUT_MS = 2_000;

export function opsRoutes({ database, metrics, isStopping }: OpsServices): Router {
  const router = Router({ caseSensitive: true });
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
      const postgres = await checkPostgres(database);
      const ready = postgres.status === "up" && !isStopping();
      response.status(ready ? 200 : 503).json({
        status: ready ? "ready" : isStopping() ? "stopping" : "not_ready",
        dependencies: { postgres },
      });
    })
    .all(methodNotAllowed("GET, HEAD"));
  router
    .route("/metrics")
    .get(async (_request, response) => {
      contextOf(response).route = "/metrics";
      response.type(metrics.registry.contentType).send(await metrics.registry.metrics());
    })
    .all(methodNotAllowed("GET, HEAD"));
  return router;
}

interface DependencyHealth {
  status: "up" | "down";
  message?: string;
}

async function checkPostgres(database: Queryable): Promise<DependencyHealth> {
  const { promise: late, resolve } = Promise.withResolvers<DependencyHealth>();
  const timer = setTimeout(() => resolve({ status: "down", message: "no answer in time" }), CHECK_TIMEOUT_MS);
  try {
    return await Promise.race([
      late,
      database.query(sql`select 1`).then(
        (): DependencyHealth => ({ status: "up" }),
        (): DependencyHealth => ({ status: "down", message: "out of reach" }),
      ),
    ]);
  } finally {
    clearTimeout(timer);
  }
}
