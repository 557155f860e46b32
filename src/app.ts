/** The composition root: from the configuration to a running service. Everything is made here, once, and handed on. */
import { createApiKeyService, type ApiKeyService } from "./api-keys/api-key.service.ts";
import { createKeyVerifier, type KeyVerifier } from "./api-keys/api-key.verifier.ts";
import { createMemoryStore, createPostgresStore, type RateLimitStore } from "./api-keys/rate-limit.store.ts";
import { openGraphql } from "./app.graphql.ts";
import { startWorker } from "./app.worker.ts";
import type { Config } from "./config/config.ts";
import { entities } from "./entities.ts";
import { createEventNotifier } from "./events/event.notifier.ts";
import { createEventService } from "./events/event.service.ts";
import { createHttpApp } from "./http/http.app.ts";
import { purgeIdempotencyRecords } from "./http/idempotency.ts";
import {
  deliveriesDependency,
  mongoDependency,
  postgresDependency,
  type Dependency,
} from "./http/ops/dependencies.ts";
import { listen, type HttpServer } from "./http/server.ts";
import { createJobCodes } from "./jobs/job.codes.ts";
import { foldCounts } from "./jobs/job.counts.ts";
import { createJobOperations } from "./jobs/job.operations.ts";
import { createJobService } from "./jobs/job.service.ts";
import { createOrganizationService, type OrganizationService } from "./organizations/organization.service.ts";
import { systemClock, type Clock } from "./platform/clock.ts";
import { openDatabase, type Database } from "./platform/database.ts";
import { createLogger, type Logger } from "./platform/logger.ts";
import { createMetrics, type Metrics } from "./platform/metrics.ts";
import type { Mongo } from "./platform/mongo.ts";
import { createNotifier } from "./platform/notifications.ts";
import { startRepeating } from "./platform/repeating.ts";
import type { SecretBox } from "./platform/secret-box.ts";
import { DELIVERIES_CHANNEL } from "./webhooks/fan-out.service.ts";
import { ensurePartitions } from "./webhooks/partitions.ts";
import { openWebhooks, type Webhooks } from "./webhooks/webhooks.service.ts";

/** What a test may put in the place of the real thing. */
export interface AppOverrides {
  clock?: Clock;
  logger?: Logger;
}

export interface App extends AsyncDisposable {
  readonly database: Database;
  readonly organizations: OrganizationService;
  readonly keys: ApiKeyService;
  readonly webhooks: Pick<Webhooks, "endpoints" | "deliveries">;
  /**
   * Opens the door and answers with the address, such as `http://127.0.0.1:4000`. Outside production the explorers bring
   * `exampleKey` along.
   */
  listen(options?: { exampleKey?: string | undefined }): Promise<string>;
}

const FOLD_EVERY_MS = 1_000;
const RECORD_USE_EVERY_MS = 10_000;
const PURGE_EVERY_MS = 60_000;
const PURGE_AT_ONCE = 1_000;
const PARTITIONS_EVERY_MS = 3_600_000;

interface HousekeepingParts {
  retentionDays: number;
  clock: Clock;
  database: Database;
  logger: Logger;
  metrics: Metrics;
  verifier: KeyVerifier;
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
  const announce = createNotifier(database, DELIVERIES_CHANNEL);
  const webhookParts = { ...config.webhooks, database, box, announce, clock, retentionDays };
  const webhooks = opened.use(await openWebhooks(webhookParts));
  const workerParts = { config, databaseUrl, mongo, box, webhooks, clock, logger, registry };
  const worker = config.role === "api" ? null : opened.use(await startWorker(workerParts));
  const services = { ...createServices({ database, clock, announce }), ...webhooks };
  const limits = rateLimitStore(config, { database, clock });
  const graphqlParts = { config, databaseUrl, services, verifier, limits, logger, registry };
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
  });
  const held = opened.move();

  return {
    database,
    organizations: services.organizations,
    keys: services.keys,
    webhooks,
    async listen({ exampleKey } = {}) {
      if (exampleKey !== undefined) graphql?.door.offerKey(exampleKey);
      server = await listen(httpApp, config.http, graphql?.webSockets ?? null);
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

interface ServiceParts {
  database: Database;
  clock: Clock;
  announce: () => void;
}

/** What partners and operators can do, whichever door they come through. */
function createServices({ database, clock, announce }: ServiceParts) {
  const codes = createJobCodes(database);
  const jobParts = { database, codes, announce, happened: createEventNotifier(database) };
  return {
    clock,
    codes,
    jobs: createJobService(jobParts),
    operations: createJobOperations(jobParts),
    events: createEventService({ database, clock }),
    keys: createApiKeyService({ database, clock }),
    organizations: createOrganizationService({ database }),
  };
}

/** What every process does for itself, again and again. */
function startHousekeeping(parts: HousekeepingParts): AsyncDisposable {
  const { database, logger, metrics, verifier } = parts;
  const tasks = [
    startRepeating("fold counts", FOLD_EVERY_MS, logger, async () =>
      metrics.foldedCounts.inc(await foldCounts(database)),
    ),
    startRepeating("record key use", RECORD_USE_EVERY_MS, logger, () => verifier.recordUse()),
    startRepeating("purge idempotency", PURGE_EVERY_MS, logger, () =>
      purgeIdempotencyRecords(database, PURGE_AT_ONCE),
    ),
    startRepeating("make partitions", PARTITIONS_EVERY_MS, logger, () =>
      ensurePartitions(database, parts.clock.now(), parts.retentionDays),
    ),
  ];
  return {
    async [Symbol.asyncDispose]() {
      await Promise.all(tasks.map((task) => task[Symbol.asyncDispose]()));
    },
  };
}

function rateLimitStore(config: Config, parts: { database: Database; clock: Clock }): RateLimitStore | null {
  if (!config.rateLimits.enabled) return null;
  return config.rateLimits.store === "postgres"
    ? createPostgresStore(parts.database)
    : createMemoryStore(parts.clock);
}
