/** The weeks that the log of deliveries and their attempts lies in: made ahead of time, and dropped whole when they are over. */
import type { Queryable } from "../platform/database.ts";
import {
  dropPeriodsBefore,
  ensurePeriods,
  type PartitionScheme,
  type Period,
} from "../platform/partitions.ts";

const DAY_MS = 86_400_000;
const WEEK_MS = 7 * DAY_MS;
/** The first of January 1970 was a Thursday; weeks begin on Mondays, at midnight UTC. */
const FIRST_MONDAY_MS = -3 * DAY_MS;
const WEEKS_AHEAD = 4;
/** How much longer a week stays than it must: what waited as long as it may still finds its place when it ends. */
const SLACK_DAYS = 7;

const weeks: PartitionScheme = {
  // Each is parted by the time in its UUIDv7: a delivery's own id, and an attempt's delivery.
  parents: ["webhook_delivery_finished", "webhook_attempt"],
  periodOf: weekOf,
  suffix: /_(\d{4}w\d{2})$/,
  // "wamp"
  lock: 0x77616d70,
};

/**
 * Makes the weeks that are missing, from the oldest that is kept to four ahead, and answers with the names of their
 * tables. Any number of processes may call it at once.
 */
export function ensurePartitions(
  database: Queryable,
  nowMs: number,
  retentionDays: number,
): Promise<string[]> {
  const fromMs = oldestKeptMs(nowMs, retentionDays);
  return ensurePeriods(database, weeks, { fromMs, toMs: nowMs + WEEKS_AHEAD * WEEK_MS });
}

/** Drops the weeks that are over by `retentionDays` and a week, and answers with the names of their tables. */
export function dropExpiredPartitions(
  database: Queryable,
  nowMs: number,
  retentionDays: number,
): Promise<string[]> {
  return dropPeriodsBefore(database, weeks, oldestKeptMs(nowMs, retentionDays));
}

function oldestKeptMs(nowMs: number, retentionDays: number): number {
  return nowMs - (retentionDays + SLACK_DAYS) * DAY_MS;
}

/** As ISO 8601 counts. */
function weekOf(ms: number): Period {
  const startMs = Math.floor((ms - FIRST_MONDAY_MS) / WEEK_MS) * WEEK_MS + FIRST_MONDAY_MS;
  // A week belongs to the year that its Thursday lies in.
  const thursdayMs = startMs + 3 * DAY_MS;
  const year = new Date(thursdayMs).getUTCFullYear();
  const number = Math.floor((thursdayMs - Date.UTC(year, 0, 1)) / WEEK_MS) + 1;
  return { name: `${year}w${String(number).padStart(2, "0")}`, startMs, endMs: startMs + WEEK_MS };
}
