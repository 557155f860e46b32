/** The composition root: from the configuration to a running service. Everything is made here, once, and handed on. */
import { createApiKeyService, type ApiKeyService } from "./api-keys/api-key.service.ts";
import { createKeyVerifier } from "./api-keys/api-key.verifier.ts";
import type { Config } from "./config/config.ts";
import { entities } from "./entities.ts";
import { createEventService } from "./events/event.service.ts";
import { createHttpApp } from "./http/http.app.ts";
import { purgeIdempotencyRecords } from "./http/idempotency.ts";
import { createMemoryStore, createPostgresStore } from "./http/rate-limit.ts";
import { listen, type HttpServer } from "./http/server.ts";
import { createJobCodes } from "./jobs/job.codes.ts";
import { foldCounts } from "./jobs/job.counts.ts";
import { createJobService } from "./jobs/job.service.ts";
import { createOrganizationService, type OrganizationService } from "./organizations/organization.service.ts";
import { systemClock, type Clock } from "./platform/clock.ts";
import { openDatabase, type Database } from "./platform/database.ts";
import { createLogger, type Logger } from "./platform/logger.ts";
import { createMetrics } from "./platform/metrics.ts";
import { startRepeating } from "./platform/repeating.ts";

/** What a test may put in the place of the real thing. */
export interface AppOverrides {
  clock?: Clock;
  logger?: Logger;
}

export interface App extends AsyncDisposable {
  readonly url: string;
  readonly database: Database;
  readonly organizations: OrganizationService;
  readonly keys: ApiKeyService;
}

const FOLD_EVERY_MS = 1_000;
const RECORD_USE_EVERY_MS = 10_000;
const PURGE_EVERY_MS = 60_000;
const PURGE_AT_ONCE = 1_000;

/** Starts the service on a database whose schema is up to date. Disposing stops it and answers what was accepted. */
export async function startApp(
  config: Config,
  databaseUrl: string,
  overrides: AppOverrides = {},
): Promise<App> {
  const clock = overrides.clock ?? systemClock;
  const logger = overrides.logger ?? createLogger(config.logLevel);
  const database = await openDatabase({ url: databaseUrl, poolSize: config.database.poolSize, entities });
  const metrics = createMetrics(() => database.pool());
  const codes = createJobCodes(database);
  const verifier = createKeyVerifier({ database, clock });
  const store =
    config.rateLimits.store === "postgres" ? createPostgresStore(database) : createMemoryStore(clock);
  let stopping = false;

  const http: HttpServer = await listen(
    createHttpApp({
      config,
      logger,
      metrics,
      database,
      jobs: createJobService({ database, codes }),
      codes,
      events: createEventService({ database, clock }),
      verifier,
      limits: config.rateLimits.enabled ? store : null,
      isStopping: () => stopping,
    }),
    config.http,
  );

  const housekeeping = [
    startRepeating("fold counts", FOLD_EVERY_MS, logger, async () =>
      metrics.foldedCounts.inc(await foldCounts(database)),
    ),
    startRepeating("record key use", RECORD_USE_EVERY_MS, logger, () => verifier.recordUse()),
    startRepeating("purge idempotency", PURGE_EVERY_MS, logger, () =>
      purgeIdempotencyRecords(database, PURGE_AT_ONCE),
    ),
  ];

  return {
    url: http.url,
    database,
    organizations: createOrganizationService({ database }),
    keys: createApiKeyService({ database, clock }),
    async [Symbol.asyncDispose]() {
      stopping = true;
      await http.stop();
      await Promise.all(housekeeping.map((task) => task[Symbol.asyncDispose]()));
      await verifier[Symbol.asyncDispose]();
      await database[Symbol.asyncDispose]();
    },
  };
}
