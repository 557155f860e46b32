/** The composition root: from the configuration to a running service. Everything is made here, once, and handed on. */
import { createApiKeyService, type ApiKeyService } from "./api-keys/api-key.service.ts";
import { createKeyVerifier, type KeyVerifier } from "./api-keys/api-key.verifier.ts";
import { startWorker } from "./app.worker.ts";
import type { Config } from "./config/config.ts";
import { entities } from "./entities.ts";
import { createEventService } from "./events/event.service.ts";
import { createHttpApp } from "./http/http.app.ts";
import { purgeIdempotencyRecords } from "./http/idempotency.ts";
import { deliveriesDependency, mongoDependency, postgresDependency } from "./http/ops/dependencies.ts";
import { createMemoryStore, createPostgresStore, type RateLimitStore } from "./http/rate-limit.ts";
import { listen, type HttpServer } from "./http/server.ts";
import { createJobCodes } from "./jobs/job.codes.ts";
import { foldCounts } from "./jobs/job.counts.ts";
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
  /** Opens the door and answers with the address, such as `http://127.0.0.1:4000`. */
  listen(): Promise<string>;
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
  const database = await openDatabase({ url: databaseUrl, poolSize: config.database.poolSize, entities });
  const metrics = createMetrics(() => database.pool());
  const codes = createJobCodes(database);
  const verifier = createKeyVerifier({ database, clock });
  const announce = createNotifier(database, DELIVERIES_CHANNEL);
  const { retentionDays } = config;
  const webhooks = await openWebhooks({ database, box, announce, clock, ...config.webhooks, retentionDays });
  const workerParts = { config, databaseUrl, mongo, box, webhooks, clock, logger };
  const worker =
    config.role === "api" ? null : await startWorker({ ...workerParts, registry: metrics.registry });
  let stopping = false;
  let server: HttpServer | null = null;

  const httpApp = createHttpApp({
    config,
    logger,
    metrics,
    database,
    jobs: createJobService({ database, codes, announce }),
    codes,
    events: createEventService({ database, clock }),
    verifier,
    limits: rateLimitStore(config, { database, clock }),
    dependencies: [
      postgresDependency(database),
      mongoDependency(mongo, config.role === "worker"),
      ...(worker ? [deliveriesDependency(() => worker.problem(), config.role === "worker")] : []),
    ],
    isStopping: () => stopping,
  });
  const housekeeping = startHousekeeping({ retentionDays, clock, database, logger, metrics, verifier });

  return {
    database,
    organizations: createOrganizationService({ database }),
    keys: createApiKeyService({ database, clock }),
    webhooks,
    async listen() {
      server = await listen(httpApp, config.http);
      return server.url;
    },
    async [Symbol.asyncDispose]() {
      stopping = true;
      await server?.stop();
      await worker?.[Symbol.asyncDispose]();
      await webhooks[Symbol.asyncDispose]();
      await housekeeping[Symbol.asyncDispose]();
      await verifier[Symbol.asyncDispose]();
      await database[Symbol.asyncDispose]();
    },
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
