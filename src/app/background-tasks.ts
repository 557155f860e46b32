/** Recurring background tasks of every process, in all roles. */
import { purgeSessions } from "../accounts/api.ts";
import { type KeyVerifier, purgeEndedKeys } from "../api-keys/api.ts";
import { feedLagSeconds } from "../events/api.ts";
import { purgeBuckets } from "../rate-limits/api.ts";
import {
  IDEMPOTENCY_STORAGE_LIMITS,
  purgeIdempotencyRecords,
  trimIdempotencyRecords,
} from "../idempotency/api.ts";
import { compactCounters } from "../jobs/api.ts";
import { databaseNowMs } from "../platform/postgres/clock.ts";
import type { AppContext } from "./context.ts";
import { startIntervalTask } from "../platform/concurrency/interval-task.ts";
import { ensureDailyPartitions } from "../request-log/api.ts";
import { ensurePartitions } from "../webhooks/api.ts";

const COMPACT_COUNTERS_INTERVAL_MS = 1_000;
const RECORD_USE_INTERVAL_MS = 10_000;
const FEED_LAG_INTERVAL_MS = 5_000;
const PURGE_INTERVAL_MS = 60_000;
const PURGE_BATCH_SIZE = 1_000;
/** Smaller, because an idempotency record can be as large as 1.3 MB. */
const PURGE_RECORDS_BATCH_SIZE = 500;
const TRIM_INTERVAL_MS = 5 * 60_000;
const PURGE_BUCKETS_INTERVAL_MS = 3_600_000;
const PURGE_BUCKETS_BATCH_SIZE = 10_000;
const PURGE_KEYS_INTERVAL_MS = 3_600_000;
const PARTITIONS_INTERVAL_MS = 3_600_000;

/** Starts the tasks. Disposing stops them and waits for those that are running. */
export function startBackgroundTasks(
  { config: { retentionDays }, clock, database, logger, metrics }: AppContext,
  verifier: KeyVerifier,
): AsyncDisposable {
  const tasks = [
    startIntervalTask("compact job counters", COMPACT_COUNTERS_INTERVAL_MS, logger, async () =>
      metrics.compactedJobCounterDeltas.inc(await compactCounters(database)),
    ),
    startIntervalTask("measure feed lag", FEED_LAG_INTERVAL_MS, logger, async () =>
      metrics.feedLag.set(await feedLagSeconds(database)),
    ),
    startIntervalTask("record key use", RECORD_USE_INTERVAL_MS, logger, () => verifier.flushLastUsed()),
    startIntervalTask("purge idempotency", PURGE_INTERVAL_MS, logger, () =>
      purgeIdempotencyRecords(database, PURGE_RECORDS_BATCH_SIZE),
    ),
    startIntervalTask("trim idempotency", TRIM_INTERVAL_MS, logger, async () =>
      metrics.trimmedIdempotencyRecords.inc(
        await trimIdempotencyRecords(database, IDEMPOTENCY_STORAGE_LIMITS, PURGE_RECORDS_BATCH_SIZE),
      ),
    ),
    startIntervalTask("purge sessions", PURGE_INTERVAL_MS, logger, () =>
      purgeSessions(database, PURGE_BATCH_SIZE),
    ),
    startIntervalTask("purge rate limits", PURGE_BUCKETS_INTERVAL_MS, logger, () =>
      purgeBuckets(database, PURGE_BUCKETS_BATCH_SIZE),
    ),
    startIntervalTask("purge keys", PURGE_KEYS_INTERVAL_MS, logger, () =>
      purgeEndedKeys(database, retentionDays),
    ),
    startIntervalTask("create partitions", PARTITIONS_INTERVAL_MS, logger, async () => {
      await ensurePartitions(database, await databaseNowMs(database), retentionDays);
      await ensureDailyPartitions(database, clock.now());
    }),
  ];
  return {
    async [Symbol.asyncDispose]() {
      await Promise.all(tasks.map((task) => task[Symbol.asyncDispose]()));
    },
  };
}
