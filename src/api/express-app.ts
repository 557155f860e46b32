/** The Express app: all routes and middlewares. */
import cors from "cors";
import express, { type ErrorRequestHandler, type Express, type RequestHandler } from "express";
import type { ApiKeyService, KeyVerifier } from "../api-keys/api.ts";
import type { Clock } from "../core/clock.ts";
import { badRequest } from "../core/errors.ts";
import { createHostCheck } from "../core/host-check.ts";
import type { RateLimits } from "../rate-limits/api.ts";
import type { Config } from "../config/config.ts";
import type { EventService } from "../events/api.ts";
import type { ImportService, JobReferenceData, JobService } from "../jobs/api.ts";
import type { IdempotencyService } from "../idempotency/api.ts";
import type { DeliveryService, EndpointService } from "../webhooks/api.ts";
import type { RequestLog } from "../request-log/api.ts";
import type { TestModeService } from "../test-mode/api.ts";
import { restOperations } from "../operations/all.ts";
import { consoleRoutes } from "./console.routes.ts";
import { accountRoutes, type AccountRouteServices } from "./console/routes.ts";
import { importRoutes } from "./console/import.routes.ts";
import { limitInFlight, type RequestServices, startRequest } from "./context.ts";
import { docsRoutes } from "./docs/routes.ts";
import { guideRoutes } from "./guide.routes.ts";
import { sdkRoutes } from "./sdk.routes.ts";
import { errorHandler, notFoundHandler } from "./error-handler.ts";
import { InFlight } from "./in-flight.ts";
import type { Dependency } from "./ops/dependencies.ts";
import { opsRoutes } from "./ops/routes.ts";
import { createSimulator, type Simulate } from "./simulate.ts";
import { operationRoutes } from "./rest/operation-routes.ts";

export interface HttpServices extends AccountRouteServices, Omit<RequestServices, "inFlight"> {
  clock: Clock;
  config: Config;
  idempotency: IdempotencyService;
  jobs: JobService;
  referenceData: JobReferenceData;
  imports: ImportService;
  events: EventService;
  endpoints: EndpointService;
  deliveries: DeliveryService;
  keys: ApiKeyService;
  testMode: TestModeService;
  requests: RequestLog;
  verifier: KeyVerifier;
  limits: RateLimits | null;
  /** Checked by the readiness endpoint. */
  dependencies: readonly Dependency[];
  /** The GraphQL adapter, mounted behind the same middlewares. */
  graphql?: MountedAdapter | undefined;
  /** Returns the URL of a page of the service; "" is its base URL. */
  pageUrl: (path: string) => string;
  /** The dashboard of scheduled tasks, for operators. */
  schedulerDashboard?: RequestHandler | undefined;
}

/** Routes of another adapter. It formats the errors below `path` itself. */
interface MountedAdapter {
  readonly path: string;
  routes(simulate: Simulate): RequestHandler;
  readonly errorHandler: ErrorRequestHandler;
}

/** Headers that pages of other origins may read. */
const EXPOSED_HEADERS = [
  "ETag",
  "Link",
  "X-Request-Id",
  "X-Ignored-Fields",
  "X-Ignored-Parameters",
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
  const simulate = createSimulator(services);
  const baseUrl = config.http.publicUrl ?? "";

  const app = express();
  app.disable("x-powered-by");
  app.disable("etag");
  app.set("query parser", false);
  app.set("case sensitive routing", true);
  app.set("trust proxy", config.http.trustProxy);

  const { poolSize } = config.database;
  const { registry } = services.metrics;
  const inFlight = new InFlight({ poolSize, isLimited: config.http.loadShedding, registry });
  app.use(startRequest({ ...services, inFlight }));
  const { graphql, schedulerDashboard } = config.role === "worker" ? {} : services;
  const { corsOrigins, graphqlOrigins } = config.http;
  if (graphql && graphqlOrigins.length > 0) app.use(graphql.path, allowOrigins(graphqlOrigins));
  if (corsOrigins.length > 0) app.use(allowOrigins(corsOrigins));

  // Before the limits: monitoring asks for these under any name, and most of all during an overload.
  app.use(opsRoutes(services));
  app.use(limitInFlight);
  if (config.role !== "worker")
    app.use("/v1", operationRoutes(restOperations, { ...services, simulate, baseUrl }));
  // After the routes that need a key, which a page of another site does not have.
  app.use(requireOwnHost(createHostCheck(config)));
  if (config.role !== "worker") {
    if (graphql) app.use(graphql.routes(simulate));
    app.use("/auth", accountRoutes(services));
    app.use("/console-api", importRoutes(services));
    if (schedulerDashboard) app.use(schedulerDashboard);
    app.use(docsRoutes({ ...services, publicUrl: config.http.publicUrl }));
    const isProduction = config.environment === "production";
    app.use(sdkRoutes({ publicUrl: config.http.publicUrl, pageUrl: services.pageUrl }));
    app.use(guideRoutes({ publicUrl: config.http.publicUrl, isProduction, pageUrl: services.pageUrl }));
    // Last, because it answers browsers on every path that no other route handles.
    app.use(consoleRoutes(services));
  }

  app.use(notFoundHandler);
  if (graphql) app.use(graphql.path, graphql.errorHandler);
  app.use(errorHandler(logger));
  return app;
}

function requireOwnHost(checkHost: ReturnType<typeof createHostCheck>): RequestHandler {
  return (request, _response, next) => {
    const problem = checkHost(request);
    if (problem !== null) throw badRequest([], problem);
    next();
  };
}

function allowOrigins(origins: readonly string[]): RequestHandler {
  return cors({ origin: [...origins], exposedHeaders: EXPOSED_HEADERS, maxAge: 86_400 });
}
