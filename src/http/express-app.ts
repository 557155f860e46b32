/** The Express app: all routes and middlewares. */
import compression from "compression";
import cors from "cors";
import express, { type ErrorRequestHandler, type Express, type RequestHandler, type Response } from "express";
import type { KeyVerifier } from "../api-keys/api.ts";
import type { RateLimits } from "../rate-limits/api.ts";
import type { Config } from "../config/config.ts";
import type { EventService } from "../events/api.ts";
import type { ImportService, JobReferenceData, JobService } from "../jobs/api.ts";
import type { Database } from "../platform/postgres/database.ts";
import { badRequest } from "../platform/errors.ts";
import type { Logger } from "../platform/logger.ts";
import type { Metrics } from "../platform/metrics.ts";
import type { Tracing } from "../platform/tracing/tracing.ts";
import type { RequestRecorder } from "../request-log/api.ts";
import { readJson } from "./body.ts";
import { consoleRoutes } from "./console.routes.ts";
import { accountRoutes, type AccountServices } from "./account/routes.ts";
import { importRoutes } from "./console-api/import.routes.ts";
import { contextOf, type RequestContext, type RecordedFailure } from "./context.ts";
import { docsRoutes } from "./docs/routes.ts";
import { errorHandler, notFoundHandler, toAppError } from "./error-handler.ts";
import type { Dependency } from "./ops/dependencies.ts";
import { opsRoutes } from "./ops/routes.ts";
import { duringExternalCall } from "./load-shedding/in-flight-requests.ts";
import { defaultHeaders } from "./default-headers.ts";
import { requestContext } from "./request-context.ts";
import { eventRoutes } from "./v1/events.routes.ts";
import { createApiKeyGuards } from "./v1/guards.ts";
import { jobRoutes } from "./v1/jobs.routes.ts";
import { referenceRoutes } from "./v1/reference.routes.ts";

export interface HttpServices extends AccountServices {
  config: Config;
  logger: Logger;
  metrics: Metrics;
  /** Absent if tracing is off. */
  tracing?: Tracing | undefined;
  database: Database;
  jobs: JobService;
  referenceData: JobReferenceData;
  imports: ImportService;
  events: EventService;
  requests: RequestRecorder;
  verifier: KeyVerifier;
  /** Null if rate limits are off. */
  limits: RateLimits | null;
  /** Checked by the readiness endpoint. */
  dependencies: readonly Dependency[];
  isStopping: () => boolean;
  /** The GraphQL adapter, mounted behind the same middlewares. */
  graphql?: MountedAdapter | undefined;
  /** The dashboard of scheduled tasks, for operators. */
  schedulerDashboard?: Pick<MountedAdapter, "path" | "routes"> | undefined;
}

/** Routes of another adapter. It formats the errors below `path` itself. */
interface MountedAdapter {
  readonly path: string;
  routes(host: AdapterHost): RequestHandler;
  errorHandler(host: AdapterHost): ErrorRequestHandler;
}

/** Functions of this app that mounted adapters may use. */
const adapterHost = {
  readJson,
  requestIdOf: (response: Response) => contextOf(response).requestId,
  setRoute(response: Response, route: string) {
    contextOf(response).route = route;
  },
  setPrincipal(response: Response, principal: RequestContext["principal"]) {
    contextOf(response).principal = principal;
  },
  setFailure(response: Response, failure: RecordedFailure) {
    contextOf(response).failure = failure;
  },
  toAppError,
  duringExternalCall,
};

type AdapterHost = typeof adapterHost;

/** Headers that pages of other origins may read. */
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
  const { config, logger } = services;
  const guards = createApiKeyGuards(services.verifier, services.limits);
  const baseUrl = config.http.publicUrl ?? "";
  const baseHeaders = defaultHeaders();

  const app = express();
  app.disable("x-powered-by");
  app.disable("etag");
  app.set("query parser", false);
  app.set("case sensitive routing", true);
  app.set("trust proxy", config.http.trustProxy);

  app.use(requestContext(services));
  app.use((request, response, next) => {
    if (request.httpVersionMinor > 0 && request.headers.host === undefined) {
      throw badRequest([], "The request is not valid HTTP: it has no Host");
    }
    for (const [name, value] of baseHeaders) response.setHeader(name, value);
    // A stopping server accepts no further request on a connection.
    if (services.isStopping()) response.setHeader("Connection", "close");
    next();
  });
  app.use(compressResponses());
  const { graphql, schedulerDashboard } = config.role === "worker" ? {} : services;
  const { corsOrigins, graphqlOrigins } = config.http;
  if (graphql && graphqlOrigins.length > 0) app.use(graphql.path, allowOrigins(graphqlOrigins));
  if (corsOrigins.length > 0) app.use(allowOrigins(corsOrigins));

  if (config.role !== "worker") {
    if (graphql) app.use(graphql.routes(adapterHost));
    app.use("/v1", jobRoutes({ ...services, guards, baseUrl }));
    app.use("/v1", eventRoutes({ ...services, guards }));
    app.use("/v1", referenceRoutes({ ...services, guards }));
    app.use("/auth", accountRoutes(services));
    app.use("/console-api", importRoutes(services));
    if (schedulerDashboard) app.use(schedulerDashboard.routes(adapterHost));
    app.use(docsRoutes(config.http));
  }
  app.use(opsRoutes(services));
  // Last, because it answers browsers on every path that no other route handles.
  if (config.role !== "worker") app.use(consoleRoutes(config.http));

  app.use(notFoundHandler);
  if (graphql) app.use(graphql.path, graphql.errorHandler(adapterHost));
  app.use(errorHandler(logger));
  return app;
}

function allowOrigins(origins: readonly string[]): RequestHandler {
  return cors({ origin: [...origins], exposedHeaders: EXPOSED_HEADERS, maxAge: 86_400 });
}

/** Runs `compression` only for clients that accept it, because it wraps every response. */
function compressResponses(): RequestHandler {
  const compress = compression();
  return (request, response, next) => {
    if (request.headers["accept-encoding"] === undefined) next();
    else compress(request, response, next);
  };
}
