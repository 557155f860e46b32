/** Lists the routes that are registered in the Express app, to compare them with the documentation. */
import type { Express } from "express";
import type { AccountServices, MembershipServices } from "../../../src/accounts/services.ts";
import type { TestModeService } from "../../../src/test-mode/api.ts";
import type { ApiKeyService } from "../../../src/api-keys/service.ts";
import { createKeyVerifier } from "../../../src/api-keys/verifier.ts";
import { toConfig } from "../../../src/config/config.ts";
import { readEnv } from "../../../src/config/env.ts";
import { entities } from "../../../src/app/entities.ts";
import { createEventService } from "../../../src/events/service.ts";
import { createIdempotencyService } from "../../../src/idempotency/service.ts";
import { createHttpApp } from "../../../src/api/express-app.ts";
import { createJobReferenceData } from "../../../src/jobs/reference-data.ts";
import type { RequestLog } from "../../../src/request-log/service.ts";
import type { ImportService } from "../../../src/jobs/import-export/import.ts";
import { JobService } from "../../../src/jobs/service.ts";
import type { DeliveryService, EndpointService } from "../../../src/webhooks/api.ts";
import { systemClock } from "../../../src/core/clock.ts";
import { openDatabase } from "../../../src/core/postgres/database.ts";
import { createLogger } from "../../../src/core/logger.ts";
import { createMetrics } from "../../../src/core/metrics.ts";
import { createTestDatabase } from "../database/test-database.ts";

/** The internal parts of an Express router that are read here. */
interface Layer {
  slash: boolean;
  path?: string;
  match(path: string): boolean;
  route?: { path: string | string[]; methods: Record<string, boolean> };
  handle: { stack?: Layer[] };
}

const PREFIXES = ["/v1", "/auth", "/console-api"];

/** Assets of pages, the pages of the guide, and the path without Marking Number. */
const EXCLUDED = /^\/docs\/assets\/|^\/guide(\/|$)|^\/llms|^\/v1\/jobs\/by-marking$/;

/** Returns `GET /v1/jobs` and so on for each route and method under `/v1`. */
export async function listDocumentedRoutes(): Promise<string[]> {
  return await listRoutes((layer) => isV1(layer));
}

/** The same for all paths. GraphQL, the console's pages and the task dashboard have other routers. */
export async function listAllRoutes(): Promise<string[]> {
  return await listRoutes((layer) => !isPage(layer));
}

async function listRoutes(isIncluded: (layer: Layer) => boolean): Promise<string[]> {
  await using testDatabase = await createTestDatabase();
  await using database = await openDatabase({ url: testDatabase.url, poolSize: 2, entities });
  await using verifier = createKeyVerifier({ database, clock: systemClock });
  const referenceData = createJobReferenceData(database);
  const app = createHttpApp({
    clock: systemClock,
    config: toConfig(readEnv({ DATABASE_URL: testDatabase.url })),
    logger: createLogger("silent"),
    metrics: createMetrics(() => database.pool()),
    jobs: new JobService({
      database,
      referenceData,
      notifyWorkers: () => undefined,
      notifySubscribers: () => undefined,
    }),
    referenceData,
    // Used only by requests.
    accounts: {} as AccountServices,
    imports: {} as ImportService,
    endpoints: {} as EndpointService,
    deliveries: {} as DeliveryService,
    pageUrl: (path) => path,
    errorUrl: (code) => code,
    keys: {} as ApiKeyService,
    testMode: {} as TestModeService,
    requests: {} as RequestLog,
    ...({} as MembershipServices),
    idempotency: createIdempotencyService({ database }),
    events: createEventService({ database, clock: systemClock }),
    verifier,
    limits: null,
    dependencies: [],
    stopping: new AbortController().signal,
  });
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

/** True for the router of the console's pages: it has handlers without a route. Routers below `/v1` can have middlewares. */
function isPage(layer: Layer): boolean {
  return !isV1(layer) && innerLayers(layer).some(({ route }) => !route);
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
