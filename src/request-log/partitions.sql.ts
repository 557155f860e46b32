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

const dailyPartitions: PartitionScheme = {
  parents: ["request_log"],
  rangeAt: dailyRangeOf,
  suffix: /_(\d{8})$/,
  // "warl"
  lockKey: 0x7761726c,
};

/**
 * Creates missing partitions from yesterday to a week ahead, and returns their table names. Yesterday's last requests may
 * be written today. A request's id contains its process's time, so the days around `processNowMs` are created, too.
 */
export async function ensureDailyPartitions(database: Queryable, processNowMs: number): Promise<string[]> {
  const created: string[] = [];
  for (const nowMs of [await databaseNowMs(database), processNowMs])
    created.push(
      ...(await createMissingPartitions(database, dailyPartitions, {
        fromMs: nowMs - DAY_MS,
        toMs: nowMs + DAYS_AHEAD * DAY_MS,
      })),
    );
  return created;
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
