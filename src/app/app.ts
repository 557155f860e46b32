/** The composition root: creates every service once, from the configuration. */
import { type ApiKeyService, KeyVerifier } from "../api-keys/api.ts";
import { createMemoryStore, createPostgresStore, type RateLimits } from "../rate-limits/api.ts";
import type { AccountServices, MembershipServices } from "../accounts/api.ts";
import { createServerHandle } from "./http-server.ts";
import { startBackgroundTasks } from "./background-tasks.ts";
import type { AppContext } from "./context.ts";
import { openGraphql } from "./graphql.ts";
import { openReplicaReaders } from "./replicas.ts";
import { openServices } from "./services.ts";
import { Scheduler, scheduleStep } from "../scheduling/api.ts";
import { startWorker } from "./worker.ts";
import type { Config } from "../config/config.ts";
import { entities } from "./entities.ts";
import { createHttpApp } from "../api/express-app.ts";
import { postgresDependency, type Dependency } from "../api/ops/dependencies.ts";
import type { OrganizationService } from "../organizations/api.ts";
import { systemClock, type Clock } from "../core/clock.ts";
import { openDatabase, type Database } from "../core/postgres/database.ts";
import { createLogger, type Logger } from "../core/logger.ts";
import { createMetrics } from "../core/metrics.ts";
import type { Mongo } from "../core/mongo.ts";
import type { SecretBox } from "../core/secret-box.ts";
import type { Tracing } from "../core/tracing/tracing.ts";
import { createAgendashRoutes } from "../api/ops/agendash.routes.ts";
import type { Webhooks } from "../webhooks/api.ts";

/** Replacements for tests. */
export interface AppOverrides {
  clock?: Clock;
  logger?: Logger;
  /** Absent: no tracing. The caller closes it after disposing the app. */
  tracing?: Tracing | undefined;
  /** Replaces DNS for the proofs of e-mail domains. */
  resolveTxt?: (name: string) => Promise<string[][]>;
  /** Default: `LOCK_TIMEOUT_MS`. */
  lockTimeoutMs?: number;
}

export interface App extends AsyncDisposable {
  readonly database: Database;
  readonly organizations: OrganizationService;
  readonly keys: ApiKeyService;
  readonly accounts: AccountServices;
  readonly membership: MembershipServices;
  readonly webhooks: Pick<Webhooks, "endpoints" | "deliveries">;
  /**
   * Starts the HTTP server and returns its URL, such as `http://127.0.0.1:4000`. Outside production the GraphQL explorers
   * are prefilled with `explorerKey`.
   */
  listen(options?: { explorerKey?: string | undefined }): Promise<string>;
  /** Makes readiness fail and closes each connection after its response. New requests are still answered. */
  startDraining(): void;
}

export interface AppDeps {
  /** Its migrations must have been applied. */
  databaseUrl: string;
  /** The caller closes it after disposing the app. */
  mongo: Mongo;
  /** Uses WAYMARK_SECRET. */
  secretBox: SecretBox;
}

/**
 * A request that waits for a lock holds a connection. Far below the statement timeout, and longer than any change of the service
 * needs.
 */
const LOCK_TIMEOUT_MS = 3_000;

/** Creates the app without starting its HTTP server. Disposing finishes accepted requests, then closes all resources. */
export async function createApp(config: Config, deps: AppDeps, overrides: AppOverrides = {}): Promise<App> {
  await using opened = new AsyncDisposableStack();
  const { poolSize } = config.database;
  const { databaseUrl, mongo } = deps;
  const { lockTimeoutMs = LOCK_TIMEOUT_MS } = overrides;
  const session = { lock_timeout: String(lockTimeoutMs) };
  const database = opened.use(await openDatabase({ url: databaseUrl, poolSize, entities, session }));
  const context = createContext(config, { ...deps, database }, overrides);
  const verifier = opened.use(new KeyVerifier(context));
  opened.use(startBackgroundTasks(context, verifier));
  const replicas = opened.use(await openReplicaReaders(context));
  const scheduler = new Scheduler({ mongo, ...context });
  if (config.role === "api") opened.use(scheduler);
  const scheduleTestStep = (atMs: number): void => scheduleStep(scheduler, atMs);
  const opening = opened.use(await openServices(context, { replicas, scheduleStep: scheduleTestStep }));
  const { services, alertNotifier, setListenUrl } = opening;
  const worker =
    config.role === "api"
      ? null
      : opened.use(
          await startWorker(context, { scheduler, scheduleStep: scheduleTestStep, services, alertNotifier }),
        );
  const limits = createRateLimits(context);
  const { sessionVerifier: sessions } = services.accounts;
  const graphql =
    config.role === "worker"
      ? null
      : opened.use(await openGraphql(context, { services, verifier, sessions, limits, replicas }));
  const server = opened.use(createServerHandle(context, { graphql, setListenUrl, ...services }));
  const httpApp = createHttpApp({
    ...context,
    ...services,
    verifier,
    limits,
    dependencies: [...dependenciesOf(context, { mongo, worker }), ...replicas.dependencies],
    stopping: server.stopping,
    graphql: graphql ?? undefined,
    schedulerDashboard: createAgendashRoutes({ mongo, sessions, publicUrl: config.http.publicUrl }),
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
      if (explorerKey !== undefined) graphql?.setExplorerKey(explorerKey);
      return await server.listen(httpApp);
    },
    startDraining: () => server.startDraining(),
    // Closes in reverse order of creation, so the HTTP server first.
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

function createContext(
  config: Config,
  { databaseUrl, database, secretBox }: AppDeps & Pick<AppContext, "database">,
  { clock = systemClock, logger = createLogger(config.logLevel), tracing, resolveTxt }: AppOverrides,
): AppContext {
  const metrics = createMetrics(() => database.pool());
  const { registry } = metrics;
  if (tracing) registry.registerMetric(tracing.spanCounter);
  return { config, databaseUrl, database, clock, logger, metrics, registry, secretBox, resolveTxt };
}

/** The dependencies that the readiness check reports. */
function dependenciesOf(
  { config: { role }, database }: AppContext,
  { mongo, worker }: { mongo: Mongo; worker: { problem(): string | null } | null },
): Dependency[] {
  const isRequired = role === "worker";
  return [
    postgresDependency(database),
    { name: "mongodb", isRequired, problem: () => mongo.status().message },
    // Deliveries have been due for long and none is sent.
    ...(worker ? [{ name: "deliveries", isRequired, problem: () => worker.problem() }] : []),
  ];
}

function createRateLimits({ config: { rateLimits }, database, clock }: AppContext): RateLimits | null {
  if (!rateLimits.enabled) return null;
  const { organizationFactor } = rateLimits;
  const store = rateLimits.store === "postgres" ? createPostgresStore(database) : createMemoryStore(clock);
  return { store, organizationFactor };
}
