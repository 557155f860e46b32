/** Lists the routes that are registered in the Express app, to compare them with the documentation. */
import type { Express } from "express";
import { toConfig } from "../../../src/config/config.ts";
import { readEnv } from "../../../src/config/env.ts";
import { createHttpApp, type HttpServices } from "../../../src/api/express-app.ts";
import { createLogger } from "../../../src/core/logger.ts";
import { createMetrics } from "../../../src/core/metrics.ts";

/** The internal parts of an Express router that are read here. */
interface Layer {
  slash: boolean;
  path?: string;
  match(path: string): boolean;
  route?: { path: string | string[]; methods: Record<string, boolean> };
  handle: { stack?: Layer[]; length: number };
}

const PREFIXES = ["/v1", "/auth", "/console-api"];

/** Assets of pages, the pages of the guide, and the path without Marking Number. */
const EXCLUDED = /^\/docs\/assets\/|^\/guide(\/|$)|^\/llms|^\/v1\/jobs\/by-marking$/;

/** Returns `GET /v1/jobs` and so on for each route and method under `/v1`. */
export function listDocumentedRoutes(): string[] {
  return listRoutes((layer) => isV1(layer));
}

/** The same for all paths. GraphQL, the console's pages and the task dashboard have other routers. */
export function listAllRoutes(): string[] {
  return listRoutes((layer) => !isPage(layer));
}

/** Creates the app without its services, which only requests use. */
function listRoutes(isIncluded: (layer: Layer) => boolean): string[] {
  const services: Partial<HttpServices> = {
    config: toConfig(readEnv({ DATABASE_URL: "postgres://unused" })),
    logger: createLogger("silent"),
    metrics: createMetrics(() => ({}) as never),
    accounts: {} as HttpServices["accounts"],
    limits: null,
    dependencies: [],
    pageUrl: (path) => path,
    errorUrl: (code) => code,
  };
  const app = createHttpApp(services as HttpServices);
  return routeLayers(app, isIncluded).flatMap(([prefix, layer]) => routeNames(prefix, layer));
}

/** Returns each route with its mount path. */
function routeLayers(app: Express, isIncluded: (layer: Layer) => boolean): [string, Layer][] {
  const { stack } = app.router as unknown as { stack: Layer[] };
  return stack
    .filter(isIncluded)
    .flatMap((layer) => innerLayers(layer).map((inner): [string, Layer] => [mountPrefix(layer), inner]));
}

/** Returns the layers of a router and its nested routers. */
function innerLayers({ handle }: Layer): Layer[] {
  return (handle.stack ?? []).flatMap((inner) =>
    inner.route ? [inner] : inner.handle.stack ? innerLayers(inner) : [inner],
  );
}

const ERROR_HANDLER_PARAMETERS = 4;

/** True for the router of the console's pages: it has handlers without a route. Routers below `/v1` can have middlewares. */
function isPage(layer: Layer): boolean {
  const isHandler = ({ route, handle }: Layer) => !route && handle.length !== ERROR_HANDLER_PARAMETERS;
  return !isV1(layer) && innerLayers(layer).some(isHandler);
}

function isV1(layer: Layer): boolean {
  return !layer.slash && layer.match("/v1/x");
}

function mountPrefix(layer: Layer): string {
  if (layer.slash) return "";
  const prefix = PREFIXES.find((candidate) => layer.match(`${candidate}/x`));
  if (prefix === undefined) throw new Error(`Routers must be mounted at one of ${PREFIXES.join(", ")}`);
  return prefix;
}

function routeNames(prefix: string, { route }: Layer): string[] {
  if (!route) return [];
  const methods = Object.keys(route.methods).filter((method) => method !== "_all");
  return [route.path]
    .flat()
    .map((path) => prefix + path.replaceAll(/:(\w+)/g, "{$1}"))
    .filter((path) => !EXCLUDED.test(path))
    .flatMap((path) => methods.map((method) => `${method.toUpperCase()} ${path}`));
}
