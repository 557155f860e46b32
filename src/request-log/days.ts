/** The days that the request log lies in: made ahead of time, and dropped whole when they are over. */
import type { Queryable } from "../platform/database.ts";
import { databaseNowMs } from "../platform/database-time.ts";
import {
  dropPeriodsBefore,
  ensurePeriods,
  type PartitionScheme,
  type Period,
} from "../platform/partitions.ts";
import { sql } from "../platform/sql.ts";

const DAY_MS = 86_400_000;
/** So that a process that cannot make any for some days still finds its place. */
const DAYS_AHEAD = 7;

const days: PartitionScheme = {
  parents: ["request_log"],
  periodOf: dayOf,
  suffix: /_(\d{8})$/,
  // "warl"
  lock: 0x7761726c,
};

/**
 * Creates the days from yesterday, whose last requests may be written today, to a week ahead, and returns the names of
 * their tables. The id of a request has the time of its process, so the days around `processNowMs` are created as well.
 */
export async function ensureDays(database: Queryable, processNowMs: number): Promise<string[]> {
  const made: string[] = [];
  for (const nowMs of [await databaseNowMs(database), processNowMs])
    made.push(
      ...(await ensurePeriods(database, days, { fromMs: nowMs - DAY_MS, toMs: nowMs + DAYS_AHEAD * DAY_MS })),
    );
  return made;
}

/** Drops the days older than `retentionDays` by PostgreSQL's clock, and their counters; returns the names of their tables. */
export async function retireRequests(database: Queryable, retentionDays: number): Promise<string[]> {
  const oldestMs = (await databaseNowMs(database)) - retentionDays * DAY_MS;
  const dropped = await dropPeriodsBefore(database, days, oldestMs);
  await database.query(sql`delete from request_usage where day < ${dayText(oldestMs)}::date`);
  return dropped;
}

/** `2026-11-21`, in UTC. */
export function dayText(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}

function dayOf(ms: number): Period {
  const startMs = Math.floor(ms / DAY_MS) * DAY_MS;
  return { name: dayText(startMs).replaceAll("-", ""), startMs, endMs: startMs + DAY_MS };
}
