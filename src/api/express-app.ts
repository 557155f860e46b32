/** The Express app: all routes and middlewares. */
import cors from "cors";
import express, { type ErrorRequestHandler, type Express, type RequestHandler } from "express";
import { badRequest } from "../core/errors.ts";
import { createHostCheck } from "../core/host-check.ts";
import type { Config } from "../config/config.ts";
import type { EventService } from "../events/api.ts";
import type { RequestLog } from "../request-log/api.ts";
import { restOperations, type RestServices } from "../operations/all.ts";
import { consoleRoutes } from "./console.routes.ts";
import { accountRoutes, type AccountRouteServices } from "./console/routes.ts";
import { importRoutes, type ImportRouteServices } from "./console/import.routes.ts";
import { limitInFlight, type RequestServices, startRequest } from "./context.ts";
import { docsRoutes } from "./docs/routes.ts";
import { guideRoutes } from "./guide.routes.ts";
import { sdkRoutes } from "./sdk.routes.ts";
import { errorHandler, notFoundHandler } from "./error-handler.ts";
import { InFlight } from "./in-flight.ts";
import type { Dependency } from "./ops/dependencies.ts";
import { opsRoutes } from "./ops/routes.ts";
import { createSimulator, type Simulate } from "./simulate.ts";
import { operationRoutes, type OperationRouteServices } from "./rest/operation-routes.ts";

export type HttpServices = RestServices &
  AccountRouteServices &
  ImportRouteServices &
  Omit<OperationRouteServices, "simulate" | "baseUrl"> &
  Omit<RequestServices, "inFlight"> & {
    readonly config: Config;
    readonly events: EventService;
    readonly requests: RequestLog;
    /** Checked by the readiness endpoint. */
    readonly dependencies: readonly Dependency[];
    /** The GraphQL adapter, mounted behind the same middlewares. */
    readonly graphql?: MountedAdapter | undefined;
    /** Returns the URL of a page of the service; "" is its base URL. */
    readonly pageUrl: (path: string) => string;
    /** The dashboard of scheduled tasks, for operators. */
    readonly schedulerDashboard?: RequestHandler | undefined;
  };

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
  const { config, graphql } = services;
  const { corsOrigins, graphqlOrigins, loadShedding: isLimited, trustProxy } = config.http;
  const app = express();
  app.disable("x-powered-by");
  app.disable("etag");
  app.set("query parser", false);
  app.set("case sensitive routing", true);
  app.set("trust proxy", trustProxy);

  const { poolSize } = config.database;
  const inFlight = new InFlight({ poolSize, isLimited, registry: services.metrics.registry });
  app.use(startRequest({ ...services, inFlight }));
  if (graphql && graphqlOrigins.length > 0) app.use(graphql.path, allowOrigins(graphqlOrigins));
  if (corsOrigins.length > 0) app.use(allowOrigins(corsOrigins));
  // Before the limits: monitoring asks for these under any name, and most of all during an overload.
  app.use(opsRoutes(services));
  app.use(limitInFlight);
  if (config.role !== "worker") addRoutes(app, services);
  app.use(notFoundHandler);
  if (graphql) app.use(graphql.path, graphql.errorHandler);
  app.use(errorHandler(services.logger));
  return app;
}

function addRoutes(app: Express, services: HttpServices): void {
  const { config, graphql, schedulerDashboard, pageUrl } = services;
  const { publicUrl } = config.http;
  const simulate = createSimulator(services);
  app.use("/v1", operationRoutes(restOperations, { ...services, simulate, baseUrl: publicUrl ?? "" }));
  // After the routes that need a key, which a page of another site does not have.
  app.use(requireOwnHost(createHostCheck(config)));
  if (graphql) app.use(graphql.routes(simulate));
  app.use("/auth", accountRoutes(services));
  app.use("/console-api", importRoutes(services));
  if (schedulerDashboard) app.use(schedulerDashboard);
  app.use(docsRoutes({ publicUrl }));
  app.use(sdkRoutes({ publicUrl, pageUrl }));
  app.use(guideRoutes({ publicUrl, pageUrl, isProduction: config.environment === "production" }));
  // Last, because it answers browsers on every path that no other route handles.
  app.use(consoleRoutes(services));
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
