/** The small work that every process does for itself, again and again, whatever its role. */
import { purgeSessions } from "./accounts/session.service.ts";
import { purgeEndedKeys } from "./api-keys/api-key.purge.ts";
import { feedLagSeconds } from "./events/event.position.ts";
import type { KeyVerifier } from "./api-keys/api-key.verifier.ts";
import { purgeBuckets } from "./api-keys/rate-limit.store.ts";
import {
  IDEMPOTENCY_LIMITS,
  purgeIdempotencyRecords,
  trimIdempotencyRecords,
} from "./http/idempotency.purge.ts";
import { foldCounts } from "./jobs/job.counts.ts";
import type { Clock } from "./platform/clock.ts";
import type { Database } from "./platform/database.ts";
import { databaseNowMs } from "./platform/database-time.ts";
import type { Logger } from "./platform/logger.ts";
import type { Metrics } from "./platform/metrics.ts";
import { startRepeating } from "./platform/repeating.ts";
import { ensureDays } from "./request-log/request-log.service.ts";
import { ensurePartitions } from "./webhooks/partitions.ts";

const FOLD_EVERY_MS = 1_000;
const RECORD_USE_EVERY_MS = 10_000;
const FEED_LAG_EVERY_MS = 5_000;
const PURGE_EVERY_MS = 60_000;
const PURGE_AT_ONCE = 1_000;
/** Fewer, because a record can be large: up to 1.3 MB each. */
const PURGE_RECORDS_AT_ONCE = 500;
const TRIM_EVERY_MS = 5 * 60_000;
const PURGE_BUCKETS_EVERY_MS = 3_600_000;
const PURGE_BUCKETS_AT_ONCE = 10_000;
const PURGE_KEYS_EVERY_MS = 3_600_000;
const PARTITIONS_EVERY_MS = 3_600_000;

interface HousekeepingParts {
  retentionDays: number;
  clock: Clock;
  database: Database;
  logger: Logger;
  metrics: Metrics;
  verifier: KeyVerifier;
}

/** Disposing waits for what is under way. */
export function startHousekeeping(parts: HousekeepingParts): AsyncDisposable {
  const { database, logger, metrics, verifier } = parts;
  const tasks = [
    startRepeating("fold counts", FOLD_EVERY_MS, logger, async () =>
      metrics.foldedCounts.inc(await foldCounts(database)),
    ),
    startRepeating("measure feed lag", FEED_LAG_EVERY_MS, logger, async () =>
      metrics.feedLag.set(await feedLagSeconds(database)),
    ),
    startRepeating("record key use", RECORD_USE_EVERY_MS, logger, () => verifier.recordUse()),
    startRepeating("purge idempotency", PURGE_EVERY_MS, logger, () =>
      purgeIdempotencyRecords(database, PURGE_RECORDS_AT_ONCE),
    ),
    startRepeating("trim idempotency", TRIM_EVERY_MS, logger, async () =>
      metrics.trimmedIdempotencyRecords.inc(
        await trimIdempotencyRecords(database, IDEMPOTENCY_LIMITS, PURGE_RECORDS_AT_ONCE),
      ),
    ),
    startRepeating("purge sessions", PURGE_EVERY_MS, logger, () => purgeSessions(database, PURGE_AT_ONCE)),
    startRepeating("purge rate limits", PURGE_BUCKETS_EVERY_MS, logger, () =>
      purgeBuckets(database, PURGE_BUCKETS_AT_ONCE),
    ),
    startRepeating("purge keys", PURGE_KEYS_EVERY_MS, logger, () =>
      purgeEndedKeys(database, parts.retentionDays),
    ),
    startRepeating("make partitions", PARTITIONS_EVERY_MS, logger, async () => {
      await ensurePartitions(database, await databaseNowMs(database), parts.retentionDays);
      await ensureDays(database, parts.clock.now());
    }),
  ];
  return {
    async [Symbol.asyncDispose]() {
      await Promise.all(tasks.map((task) => task[Symbol.asyncDispose]()));
    },
  };
}
