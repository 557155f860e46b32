/** Recurring background tasks of every process, in all roles. */
import { purgeAccountData } from "../accounts/api.ts";
import { type KeyVerifier, purgeEndedKeys } from "../api-keys/api.ts";
import { feedLagSeconds, trimTestEvents } from "../events/api.ts";
import { purgeBuckets } from "../rate-limits/api.ts";
import { purgeIdempotencyRecords, trimIdempotencyRecords } from "../idempotency/api.ts";
import { compactCounters } from "../jobs/api.ts";
import { databaseNowMs } from "../core/postgres/clock.ts";
import type { AppContext } from "./context.ts";
import { IDLE, startIntervalTask } from "../core/concurrency/interval-task.ts";
import { SECOND_MS, MINUTE_MS, HOUR_MS } from "../core/time.ts";
import { ensureDailyPartitions } from "../request-log/api.ts";
import { ensurePartitions } from "../webhooks/api.ts";

const PURGE_BUCKETS_BATCH_SIZE = 10_000;

/** Starts the tasks. Disposing stops them and waits for those that are running. */
export function startBackgroundTasks(
  { config: { retentionDays }, clock, database, logger, metrics }: AppContext,
  verifier: KeyVerifier,
): AsyncDisposable {
  const createPartitions = async (): Promise<void> => {
    await ensurePartitions(database, await databaseNowMs(database), retentionDays);
    await ensureDailyPartitions(database);
  };
  const schedule: [name: string, intervalMs: number, work: () => Promise<unknown>][] = [
    [
      "compact job counters",
      SECOND_MS,
      async () => {
        const compacted = await compactCounters(database);
        metrics.compactedJobCounterDeltas.inc(compacted);
        return compacted === 0 ? IDLE : undefined;
      },
    ],
    [
      "measure feed lag",
      5 * SECOND_MS,
      async () => {
        const seconds = await feedLagSeconds(database);
        metrics.feedLag.set(seconds);
        return seconds === 0 ? IDLE : undefined;
      },
    ],
    ["record key use", 10 * SECOND_MS, () => verifier.flushLastUsed()],
    ["purge idempotency", MINUTE_MS, () => purgeIdempotencyRecords(database)],
    [
      "trim idempotency",
      5 * MINUTE_MS,
      async () => metrics.trimmedIdempotencyRecords.inc(await trimIdempotencyRecords(database)),
    ],
    ["trim test events", 5 * MINUTE_MS, () => trimTestEvents(database)],
    ["purge accounts", HOUR_MS, () => purgeAccountData(database, { nowMs: clock.now(), retentionDays })],
    ["purge rate limits", HOUR_MS, () => purgeBuckets(database, PURGE_BUCKETS_BATCH_SIZE)],
    ["purge keys", HOUR_MS, () => purgeEndedKeys(database, retentionDays)],
    ["create partitions", HOUR_MS, createPartitions],
  ];
  const tasks = schedule.map(([name, intervalMs, work]) => startIntervalTask(name, intervalMs, logger, work));
  return {
    async [Symbol.asyncDispose]() {
      await Promise.all(tasks.map((task) => task[Symbol.asyncDispose]()));
    },
  };
}
