/** The REST adapter: every route and what stands before and after it. */
import compression from "compression";
import cors from "cors";
import express, { type Express } from "express";
import helmet from "helmet";
import type { KeyVerifier } from "../api-keys/api-key.verifier.ts";
import type { Config } from "../config/config.ts";
import type { EventService } from "../events/event.service.ts";
import type { JobCodes } from "../jobs/job.codes.ts";
import type { JobService } from "../jobs/job.service.ts";
import type { Database } from "../platform/database.ts";
import { badRequest } from "../platform/errors.ts";
import type { Logger } from "../platform/logger.ts";
import type { Metrics } from "../platform/metrics.ts";
import { docsRoutes } from "./docs.routes.ts";
import { errorHandler, notFoundHandler } from "./error-handler.ts";
import { opsRoutes } from "./ops/ops.routes.ts";
import type { RateLimitStore } from "./rate-limit.ts";
import { requestContext } from "./request-context.ts";
import { eventRoutes } from "./v1/events.routes.ts";
import { createGate } from "./v1/gate.ts";
import { jobRoutes } from "./v1/jobs.routes.ts";
import { referenceRoutes } from "./v1/reference.routes.ts";

export interface HttpServices {
  config: Config;
  logger: Logger;
  metrics: Metrics;
  database: Database;
  jobs: JobService;
  codes: JobCodes;
  events: EventService;
  verifier: KeyVerifier;
  /** Null: rate limits are off. */
  limits: RateLimitStore | null;
  isStopping: () => boolean;
}

/** Headers that a browser may be told of across origins. */
const EXPOSED_HEADERS = [
  "ETag",
  "Link",
  "X-Request-Id",
  "X-Ignored-Fields",
  "Idempotency-Replayed",
  "Retry-After",
  "RateLimit",
  "RateLimit-Policy",
  "X-RateLimit-Limit",
  "X-RateLimit-Remaining",
  "X-RateLimit-Reset",
];

export function createHttpApp(services: HttpServices): Express {
  const { config, logger, metrics } = services;
  const gate = createGate(services.verifier, services.limits);
  const baseUrl = config.http.publicUrl ?? "";

  const app = express();
  app.disable("x-powered-by");
  app.disable("etag");
  app.set("query parser", false);
  app.set("case sensitive routing", true);
  app.set("trust proxy", config.http.trustProxy);

  app.use(requestContext(logger, metrics));
  app.use(
    helmet({
      contentSecurityPolicy: {
        directives: { defaultSrc: ["'none'"], frameAncestors: ["'none'"] },
        useDefaults: false,
      },
    }),
  );
  app.use((request, response, next) => {
    if (request.httpVersionMinor > 0 && request.headers.host === undefined) {
      throw badRequest([], "The request is not valid HTTP: it has no Host");
    }
    // Answers are one organisation's own; and a connection of a server that stops takes no further request.
    response.setHeader("Cache-Control", "no-store");
    if (services.isStopping()) response.setHeader("Connection", "close");
    next();
  });
  app.use(compression());
  if (config.http.corsOrigins.length > 0) {
    app.use(cors({ origin: [...config.http.corsOrigins], exposedHeaders: EXPOSED_HEADERS, maxAge: 86_400 }));
  }

  app.use(opsRoutes(services));
  if (config.role !== "worker") {
    app.use("/v1", jobRoutes({ ...services, gate, baseUrl }));
    app.use("/v1", eventRoutes({ ...services, gate }));
    app.use("/v1", referenceRoutes({ ...services, gate }));
    app.use(docsRoutes(config.http));
  }

  app.use(notFoundHandler);
  app.use(errorHandler(logger));
  return app;
}
