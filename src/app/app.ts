/** The composition root: from the configuration to a running service. Everything is made here, once, and handed on. */
import { type ApiKeyService, createKeyVerifier } from "../api-keys/api.ts";
import { createMemoryStore, createPostgresStore, type RateLimits } from "../rate-limits/api.ts";
import type { AccountService, MembershipServices } from "../accounts/api.ts";
import { createServerHandle } from "./http-server.ts";
import { startBackgroundJobs } from "./background-jobs.ts";
import { openGraphql } from "./graphql.ts";
import { openReplicaReaders } from "./replicas.ts";
import { openServices } from "./services.ts";
import { startWorker } from "./worker.ts";
import type { Config } from "../config/config.ts";
import { entities } from "./entities.ts";
import { createHttpApp } from "../http/express-app.ts";
import {
  deliveriesDependency,
  mongoDependency,
  postgresDependency,
  type Dependency,
} from "../http/ops/dependencies.ts";
import type { OrganizationService } from "../organizations/api.ts";
import { systemClock, type Clock } from "../platform/clock.ts";
import { openDatabase, type Database, type DatabaseOptions } from "../platform/postgres/database.ts";
import { createLogger, type Logger } from "../platform/logger.ts";
import { createMetrics } from "../platform/metrics.ts";
import type { Mongo } from "../platform/mongo.ts";
import type { SecretBox } from "../platform/secret-box.ts";
import { registerTracingMetrics } from "../platform/tracing/metrics.ts";
import type { Tracing } from "../platform/tracing/tracing.ts";
import { createAgendashRoutes } from "../http/operator/agendash.routes.ts";
import type { Webhooks } from "../webhooks/api.ts";

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
  readonly membership: MembershipServices;
  readonly webhooks: Pick<Webhooks, "endpoints" | "deliveries">;
  /**
   * Opens the door and answers with the address, such as `http://127.0.0.1:4000`. Outside production the explorers bring
   * `explorerKey` along.
   */
  listen(options?: { explorerKey?: string | undefined }): Promise<string>;
  /** From now on it is not ready, and asks for each connection to be closed; but whatever comes is answered. */
  startDraining(): void;
}

/** What the service stands on. */
export interface AppDeps {
  /** Its schema is up to date. */
  databaseUrl: string;
  /** Stays open until after the service is disposed. */
  mongo: Mongo;
  /** Of WAYMARK_SECRET. */
  secretBox: SecretBox;
}

/** The service on a database whose schema is up to date. Disposing answers what was accepted, then lets go of everything. */
export async function createApp(
  config: Config,
  { databaseUrl, mongo, secretBox }: AppDeps,
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
  if (tracing) registerTracingMetrics(tracing, { registry, logger });
  const verifier = opened.use(createKeyVerifier({ database, clock }));
  opened.use(startBackgroundJobs({ retentionDays, clock, database, logger, metrics, verifier }));
  const replicas = opened.use(
    await openReplicaReaders({ config, database, databaseUrl, logger, registry, tracing }),
  );
  const context = { config, database, clock, secretBox, logger, registry, tracing, replicas };
  const { services, alertNotifier, setListenUrl } = opened.use(await openServices(context));
  const workerDeps = { ...context, mainDatabase: database, databaseUrl, mongo, services, alertNotifier };
  const worker = config.role === "api" ? null : opened.use(await startWorker(workerDeps));
  const limits = createRateLimits(config, { database, clock });
  const { sessions } = services.accounts;
  const graphqlDeps = { ...context, databaseUrl, services, verifier, sessions, limits };
  const graphql = config.role === "worker" ? null : opened.use(await openGraphql(graphqlDeps));
  const server = opened.use(createServerHandle({ config, logger, registry, metrics, graphql, setListenUrl }));
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
    isStopping: () => server.isStopping(),
    graphql: graphql?.adapter,
    schedulerDashboard: createAgendashRoutes({ mongo, sessions }),
  });
  const resources = opened.move();

  return {
    database,
    organizations: services.organizations,
    keys: services.keys,
    accounts: services.accounts,
    membership: services,
    webhooks: services,
    async listen({ explorerKey } = {}) {
      if (explorerKey !== undefined) graphql?.adapter.setExplorerKey(explorerKey);
      return await server.listen(httpApp);
    },
    startDraining: () => server.startDraining(),
    // The door first, which was made last.
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

interface DependencyTargets {
  database: Database;
  mongo: Mongo;
  worker: { problem(): string | null } | null;
}

/** What readiness asks. */
function dependenciesOf({ role }: Config, { database, mongo, worker }: DependencyTargets): Dependency[] {
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

function createRateLimits(
  { rateLimits }: Config,
  { database, clock }: { database: Database; clock: Clock },
): RateLimits | null {
  if (!rateLimits.enabled) return null;
  const { organizationFactor } = rateLimits;
  const store = rateLimits.store === "postgres" ? createPostgresStore(database) : createMemoryStore(clock);
  return { store, organizationFactor };
}
