/** The routes of the Express app, read from its routers: what it answers, whatever the documentation says. */
import type { Express } from "express";
import type { AccountService } from "../../src/accounts/account.service.ts";
import type { PeopleServices } from "../../src/accounts/people.service.ts";
import { createKeyVerifier } from "../../src/api-keys/api-key.verifier.ts";
import { toConfig } from "../../src/config/config.ts";
import { readEnv } from "../../src/config/env.ts";
import { entities } from "../../src/entities.ts";
import { createEventService } from "../../src/events/event.service.ts";
import { createHttpApp } from "../../src/http/http.app.ts";
import { createJobCodes } from "../../src/jobs/job.codes.ts";
import type { RequestRecorder } from "../../src/request-log/request-log.service.ts";
import type { ImportService } from "../../src/jobs/job.import.service.ts";
import { createJobService } from "../../src/jobs/job.service.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { openDatabase } from "../../src/platform/database.ts";
import { createLogger } from "../../src/platform/logger.ts";
import { createMetrics } from "../../src/platform/metrics.ts";
import { createTestDatabase } from "./test-database.ts";

/** The parts of Express' routers that tell what they hold; `match` says where a router is mounted. */
interface Layer {
  slash: boolean;
  path?: string;
  match(path: string): boolean;
  route?: { path: string | string[]; methods: Record<string, boolean> };
  handle: { stack?: Layer[] };
}

const PREFIXES = ["/v1", "/auth", "/console-data"];

/** `GET /v1/jobs` for each route and method, but for the console's own, the files of the reference page and the path without Marking Number. */
export async function routesOfTheApp(): Promise<string[]> {
  const beside = /^\/docs\/assets\/|^\/v1\/jobs\/by-marking$/;
  return await routesWhere((layer) => isDocumented(layer), beside);
}

/** The same with what people's pages ask for. GraphQL, the page itself and the task dashboard are no routes of these routers. */
export async function allRoutesOfTheApp(): Promise<string[]> {
  return await routesWhere((layer) => !isPage(layer), /^\/docs\/assets\/|^\/v1\/jobs\/by-marking$/);
}

async function routesWhere(counts: (layer: Layer) => boolean, beside: RegExp): Promise<string[]> {
  await using testDatabase = await createTestDatabase();
  await using database = await openDatabase({ url: testDatabase.url, poolSize: 2, entities });
  await using verifier = createKeyVerifier({ database, clock: systemClock });
  const codes = createJobCodes(database);
  const app = createHttpApp({
    config: toConfig(readEnv({ DATABASE_URL: testDatabase.url })),
    logger: createLogger("silent"),
    metrics: createMetrics(() => database.pool()),
    database,
    jobs: createJobService({ database, codes, announce: () => undefined, happened: () => undefined }),
    codes,
    // Only asked when a request comes.
    accounts: {} as AccountService,
    imports: {} as ImportService,
    requests: {} as RequestRecorder,
    ...({} as PeopleServices),
    events: createEventService({ database, clock: systemClock }),
    verifier,
    limits: null,
    dependencies: [],
    isStopping: () => false,
  });
  return layersOf(app, counts).flatMap(([prefix, layer]) => namesOf(prefix, layer, beside));
}

/** Each route with the path that stands before its own. */
function layersOf(app: Express, counts: (layer: Layer) => boolean): [string, Layer][] {
  const { stack } = app.router as unknown as { stack: Layer[] };
  return stack
    .filter(counts)
    .flatMap((layer) => innerOf(layer).map((inner): [string, Layer] => [prefixOf(layer), inner]));
}

/** What a router holds, and the routers that stand in it. */
function innerOf({ handle }: Layer): Layer[] {
  return (handle.stack ?? []).flatMap((inner) =>
    inner.route ? [inner] : inner.handle.stack ? innerOf(inner) : [inner],
  );
}

/** What sends the console's pages: a router that answers beside its routes. */
function isPage(layer: Layer): boolean {
  return innerOf(layer).some(({ route }) => !route);
}

/** The console's own routes are no part of the API. */
function isDocumented(layer: Layer): boolean {
  if (isPage(layer)) return false;
  return layer.slash || !(layer.match("/auth/x") || layer.match("/console-data/x"));
}

function prefixOf(layer: Layer): string {
  if (layer.slash) return "";
  const prefix = PREFIXES.find((candidate) => layer.match(`${candidate}/x`));
  if (prefix === undefined) throw new Error(`A router is mounted elsewhere than at ${PREFIXES.join(", ")}`);
  return prefix;
}

function namesOf(prefix: string, { route }: Layer, beside: RegExp): string[] {
  if (!route) throw new Error("A router holds something else than a route");
  const methods = Object.keys(route.methods).filter((method) => method !== "_all");
  return [route.path]
    .flat()
    .map((path) => prefix + path.replaceAll(/:(\w+)/g, "{$1}"))
    .filter((path) => !beside.test(path))
    .flatMap((path) => methods.map((method) => `${method.toUpperCase()} ${path}`));
}
