/** The request log's daily partitions: created ahead of time, and dropped after the retention time. */
import type { Queryable } from "../core/postgres/database.ts";
import { databaseNowMs } from "../core/postgres/clock.ts";
import {
  dropPartitionsBefore,
  createMissingPartitions,
  type PartitionScheme,
  type PartitionRange,
} from "../core/postgres/partitions.ts";
import { sql } from "../core/postgres/sql.ts";
import { DAY_MS } from "../core/time.ts";

/** So that logging continues if no process can create partitions for some days. */
const DAYS_AHEAD = 7;

export const dailyPartitions: PartitionScheme = {
  parents: ["request_log"],
  rangeAt: dailyRangeOf,
  // "warl"
  lockKey: 0x7761726c,
};

/** Creates missing partitions from yesterday, whose last requests may be written today, to a week ahead. */
export async function ensureDailyPartitions(database: Queryable): Promise<void> {
  const nowMs = await databaseNowMs(database);
  const days = { fromMs: nowMs - DAY_MS, toMs: nowMs + DAYS_AHEAD * DAY_MS };
  await createMissingPartitions(database, dailyPartitions, days);
}

/** Drops partitions and usage counters older than `retentionDays` by PostgreSQL's clock. Returns the dropped tables' names. */
export async function purgeExpiredRequests(database: Queryable, retentionDays: number): Promise<string[]> {
  const oldestMs = (await databaseNowMs(database)) - retentionDays * DAY_MS;
  const dropped = await dropPartitionsBefore(database, dailyPartitions, oldestMs);
  await database.query(sql`delete from request_usage where day < ${toUtcDay(oldestMs)}::date`);
  return dropped;
}

/** `2026-11-21`, in UTC. */
export function toUtcDay(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}

function dailyRangeOf(ms: number): PartitionRange {
  const startMs = Math.floor(ms / DAY_MS) * DAY_MS;
  return { name: toUtcDay(startMs).replaceAll("-", ""), startMs, endMs: startMs + DAY_MS };
}
