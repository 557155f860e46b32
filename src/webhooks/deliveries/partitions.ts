/** The weeks that the log of deliveries and their attempts lies in: made ahead of time, and dropped whole when they are over. */
import type { Queryable } from "../../platform/postgres/database.ts";
import {
  dropPartitionsBefore,
  createMissingPartitions,
  type PartitionScheme,
  type PartitionRange,
} from "../../platform/postgres/partitions.ts";
import { timestampOf } from "../../platform/ids.ts";
import { sql } from "../../platform/postgres/sql.ts";

const DAY_MS = 86_400_000;
const WEEK_MS = 7 * DAY_MS;
/** The first of January 1970 was a Thursday; weeks begin on Mondays, at midnight UTC. */
const FIRST_MONDAY_MS = -3 * DAY_MS;
const WEEKS_AHEAD = 4;
/** Extra days before a week is dropped, for deliveries that end at the limit of the retention. */
const SLACK_DAYS = 7;

const weeklyPartitions: PartitionScheme = {
  // Each is parted by the time in its UUIDv7: a delivery's own id, and an attempt's delivery.
  parents: ["webhook_delivery_finished", "webhook_attempt"],
  rangeAt: weekOf,
  suffix: /_(\d{4}w\d{2})$/,
  // "wamp"
  lockKey: 0x77616d70,
};

/**
 * Creates the missing weeks, from the oldest that is kept to four ahead, and returns the names of their tables. Any number
 * of processes may call it concurrently.
 */
export async function ensurePartitions(
  database: Queryable,
  nowMs: number,
  retentionDays: number,
): Promise<string[]> {
  const fromMs = await retentionStartMs(database, nowMs, retentionDays);
  return createMissingPartitions(database, weeklyPartitions, { fromMs, toMs: nowMs + WEEKS_AHEAD * WEEK_MS });
}

/** Drops weeks that ended more than `retentionDays` and a week ago, and returns the names of their tables. */
export async function dropExpiredPartitions(
  database: Queryable,
  nowMs: number,
  retentionDays: number,
): Promise<string[]> {
  return dropPartitionsBefore(
    database,
    weeklyPartitions,
    await retentionStartMs(database, nowMs, retentionDays),
  );
}

/** A pending delivery moves into the week of its id when it ends, and its attempts are there already: that week stays. */
async function retentionStartMs(database: Queryable, nowMs: number, retentionDays: number): Promise<number> {
  const byAgeMs = nowMs - (retentionDays + SLACK_DAYS) * DAY_MS;
  const [oldest] = await database.query<{ id: string }>(
    sql`select id from webhook_delivery where status = 'pending' order by id limit 1`,
  );
  return oldest === undefined ? byAgeMs : Math.min(byAgeMs, Date.parse(timestampOf(oldest.id)));
}

/** As ISO 8601 counts. */
function weekOf(ms: number): PartitionRange {
  const startMs = Math.floor((ms - FIRST_MONDAY_MS) / WEEK_MS) * WEEK_MS + FIRST_MONDAY_MS;
  // A week belongs to the year that its Thursday lies in.
  const thursdayMs = startMs + 3 * DAY_MS;
  const year = new Date(thursdayMs).getUTCFullYear();
  const number = Math.floor((thursdayMs - Date.UTC(year, 0, 1)) / WEEK_MS) + 1;
  return { name: `${year}w${String(number).padStart(2, "0")}`, startMs, endMs: startMs + WEEK_MS };
}
