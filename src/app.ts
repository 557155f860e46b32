/** The composition root: from the configuration to a running service. Everything is made here, once, and handed on. */
import type { ApiKeyService } from "./api-keys/api-key.service.ts";
import { createKeyVerifier } from "./api-keys/api-key.verifier.ts";
import { createMemoryStore, createPostgresStore, type RateLimitStore } from "./api-keys/rate-limit.store.ts";
import type { AccountService } from "./accounts/account.service.ts";
import type { PeopleServices } from "./accounts/people.service.ts";
import { startHousekeeping } from "./app.housekeeping.ts";
import { openGraphql } from "./app.graphql.ts";
import { openServices } from "./app.services.ts";
import { startWorker } from "./app.worker.ts";
import type { Config } from "./config/config.ts";
import { entities } from "./entities.ts";
import { createHttpApp } from "./http/http.app.ts";
import {
  deliveriesDependency,
  mongoDependency,
  postgresDependency,
  type Dependency,
} from "./http/ops/dependencies.ts";
import { listen, type HttpServer } from "./http/server.ts";
import type { OrganizationService } from "./organizations/organization.service.ts";
import { systemClock, type Clock } from "./platform/clock.ts";
import { openDatabase, type Database } from "./platform/database.ts";
import { createLogger, type Logger } from "./platform/logger.ts";
import { createMetrics } from "./platform/metrics.ts";
import type { Mongo } from "./platform/mongo.ts";
import type { SecretBox } from "./platform/secret-box.ts";
import { createDashboard } from "./scheduling/dashboard.ts";
import type { Webhooks } from "./webhooks/webhooks.service.ts";

/** What a test may put in the place of the real thing. */
export interface AppOverrides {
  clock?: Clock;
  logger?: Logger;
}

export interface App extends AsyncDisposable {
  readonly database: Database;
  readonly organizations: OrganizationService;
  readonly keys: ApiKeyService;
  readonly accounts: AccountService;
  readonly people: PeopleServices;
  readonly webhooks: Pick<Webhooks, "endpoints" | "deliveries">;
  /**
   * Opens the door and answers with the address, such as `http://127.0.0.1:4000`. Outside production the explorers bring
   * `exampleKey` along.
   */
  listen(options?: { exampleKey?: string | undefined }): Promise<string>;
}

/** What the service stands on. */
export interface AppParts {
  /** Its schema is up to date. */
  databaseUrl: string;
  /** Stays open until after the service is disposed. */
  mongo: Mongo;
  /** Of WAYMARK_SECRET. */
  box: SecretBox;
}

/** The service on a database whose schema is up to date. Disposing answers what was accepted, then lets go of everything. */
export async function createApp(
  config: Config,
  { databaseUrl, mongo, box }: AppParts,
  overrides: AppOverrides = {},
): Promise<App> {
  const clock = overrides.clock ?? systemClock;
  const logger = overrides.logger ?? createLogger(config.logLevel);
  await using opened = new AsyncDisposableStack();
  const { retentionDays } = config;
  const database = opened.use(await openMainDatabase(config, databaseUrl));
  const metrics = createMetrics(() => database.pool());
  const { registry } = metrics;
  const verifier = opened.use(createKeyVerifier({ database, clock }));
  opened.use(startHousekeeping({ retentionDays, clock, database, logger, metrics, verifier }));
  const foundations = { config, database, clock, box, logger, registry };
  const { services, tellOfTrouble, listensAt } = opened.use(await openServices(foundations));
  const workerParts = { ...foundations, mainDatabase: database, databaseUrl, mongo, services, tellOfTrouble };
  const worker = config.role === "api" ? null : opened.use(await startWorker(workerParts));
  const limits = rateLimitStore(config, { database, clock });
  const { sessions } = services.accounts;
  const graphqlParts = { config, databaseUrl, services, verifier, sessions, limits, logger, registry };
  const graphql = config.role === "worker" ? null : opened.use(await openGraphql(graphqlParts));
  let stopping = false;
  let server: HttpServer | null = null;

  const httpApp = createHttpApp({
    config,
    logger,
    metrics,
    database,
    ...services,
    verifier,
    limits,
    dependencies: dependenciesOf(config, { database, mongo, worker }),
    isStopping: () => stopping,
    graphql: graphql?.door,
    dashboard: createDashboard({ mongo, sessions }),
  });
  const held = opened.move();

  return {
    database,
    organizations: services.organizations,
    keys: services.keys,
    accounts: services.accounts,
    people: services,
    webhooks: services,
    async listen({ exampleKey } = {}) {
      if (exampleKey !== undefined) graphql?.door.offerKey(exampleKey);
      server = await listen(httpApp, config.http, graphql?.webSockets ?? null);
      listensAt(server.url);
      return server.url;
    },
    async [Symbol.asyncDispose]() {
      stopping = true;
      await server?.stop();
      await held.disposeAsync();
    },
  };
}

interface Foundations {
  database: Database;
  mongo: Mongo;
  worker: { problem(): string | null } | null;
}

/** What readiness asks. */
function dependenciesOf({ role }: Config, { database, mongo, worker }: Foundations): Dependency[] {
  return [
    postgresDependency(database),
    mongoDependency(mongo, role === "worker"),
    ...(worker ? [deliveriesDependency(() => worker.problem(), role === "worker")] : []),
  ];
}

function openMainDatabase(config: Config, url: string): Promise<Database> {
  return openDatabase({ url, poolSize: config.database.poolSize, entities });
}

function rateLimitStore(config: Config, parts: { database: Database; clock: Clock }): RateLimitStore | null {
  if (!config.rateLimits.enabled) return null;
  return config.rateLimits.store === "postgres"
    ? createPostgresStore(parts.database)
    : createMemoryStore(parts.clock);
}
