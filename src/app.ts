/** The composition root: from the configuration to a running service. Everything is made here, once, and handed on. */
import type { ApiKeyService } from "./api-keys/api-key.service.ts";
import { createKeyVerifier } from "./api-keys/api-key.verifier.ts";
import { createMemoryStore, createPostgresStore } from "./api-keys/rate-limit.store.ts";
import type { RateLimits } from "./api-keys/rate-limit.ts";
import type { AccountService } from "./accounts/account.service.ts";
import type { PeopleServices } from "./accounts/people.service.ts";
import { createDoor } from "./app.door.ts";
import { startHousekeeping } from "./app.housekeeping.ts";
import { openGraphql } from "./app.graphql.ts";
import { openReplicaReads } from "./app.replicas.ts";
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
import type { OrganizationService } from "./organizations/organization.service.ts";
import { systemClock, type Clock } from "./platform/clock.ts";
import { openDatabase, type Database, type DatabaseOptions } from "./platform/database.ts";
import { createLogger, type Logger } from "./platform/logger.ts";
import { createMetrics } from "./platform/metrics.ts";
import type { Mongo } from "./platform/mongo.ts";
import type { SecretBox } from "./platform/secret-box.ts";
import { reportTracing } from "./platform/tracing.report.ts";
import type { Tracing } from "./platform/tracing.ts";
import { createDashboard } from "./scheduling/dashboard.ts";
import type { Webhooks } from "./webhooks/webhooks.service.ts";

/** What a test may put in the place of the real thing. */
export interface AppOverrides {
  clock?: Clock;
  logger?: Logger;
  /** Absent: nothing is traced. It stays open until after the service is disposed. */
  tracing?: Tracing | undefined;
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
  /** From now on it is not ready, and asks for each connection to be closed; but whatever comes is answered. */
  announceStop(): void;
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
  const { tracing } = overrides;
  await using opened = new AsyncDisposableStack();
  const { retentionDays } = config;
  const database = opened.use(await openMainDatabase(config, { url: databaseUrl, tracing }));
  const metrics = createMetrics(() => database.pool());
  const { registry } = metrics;
  if (tracing) reportTracing(tracing, { registry, logger });
  const verifier = opened.use(createKeyVerifier({ database, clock }));
  opened.use(startHousekeeping({ retentionDays, clock, database, logger, metrics, verifier }));
  const replicas = opened.use(
    await openReplicaReads({ config, database, databaseUrl, logger, registry, tracing }),
  );
  const foundations = { config, database, clock, box, logger, registry, tracing, replicas };
  const { services, tellOfTrouble, listensAt } = opened.use(await openServices(foundations));
  const workerParts = { ...foundations, mainDatabase: database, databaseUrl, mongo, services, tellOfTrouble };
  const worker = config.role === "api" ? null : opened.use(await startWorker(workerParts));
  const limits = rateLimitsOf(config, { database, clock });
  const { sessions } = services.accounts;
  const graphqlParts = { ...foundations, databaseUrl, services, verifier, sessions, limits };
  const graphql = config.role === "worker" ? null : opened.use(await openGraphql(graphqlParts));
  const door = opened.use(createDoor({ config, logger, registry, metrics, graphql, listensAt }));
  const httpApp = createHttpApp({
    config,
    logger,
    metrics,
    tracing,
    database,
    ...services,
    verifier,
    limits,
    dependencies: [...dependenciesOf(config, { database, mongo, worker }), ...replicas.dependencies],
    isStopping: () => door.isStopping(),
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
      return await door.open(httpApp);
    },
    announceStop: () => door.announceStop(),
    // The door first, which was made last.
    [Symbol.asyncDispose]: () => held.disposeAsync(),
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

function openMainDatabase(
  config: Config,
  options: Pick<DatabaseOptions, "url" | "tracing">,
): Promise<Database> {
  return openDatabase({ ...options, poolSize: config.database.poolSize, entities });
}

function rateLimitsOf(
  { rateLimits }: Config,
  { database, clock }: { database: Database; clock: Clock },
): RateLimits | null {
  if (!rateLimits.enabled) return null;
  const { organizationFactor } = rateLimits;
  const store = rateLimits.store === "postgres" ? createPostgresStore(database) : createMemoryStore(clock);
  return { store, organizationFactor };
}
