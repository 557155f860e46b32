/** The days that the request log lies in: made ahead of time, and dropped whole when they are over. */
import type { Queryable } from "../platform/database.ts";
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

/** From yesterday, whose last requests may be written today, to a week ahead. */
export function ensureDays(database: Queryable, nowMs: number): Promise<string[]> {
  return ensurePeriods(database, days, { fromMs: nowMs - DAY_MS, toMs: nowMs + DAYS_AHEAD * DAY_MS });
}

/** Drops the days that are over by `retentionDays`, and what was counted of them; answers with the names of their tables. */
export async function retireRequests(
  database: Queryable,
  nowMs: number,
  retentionDays: number,
): Promise<string[]> {
  const oldestMs = nowMs - retentionDays * DAY_MS;
  const dropped = await dropPeriodsBefore(database, days, oldestMs);
  await database.query(sql`delete from request_usage where day < ${dayText(oldestMs)}::date`);
  await ensureDays(database, nowMs);
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
