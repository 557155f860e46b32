/** Weekly partitions of finished deliveries and attempts, created four weeks ahead and dropped when expired. */
import type { Queryable } from "../../core/postgres/database.ts";
import {
  dropPartitionsBefore,
  createMissingPartitions,
  type PartitionScheme,
  type PartitionRange,
} from "../../core/postgres/partitions.ts";
import { timestampOf } from "../../core/ids.ts";
import { sql } from "../../core/postgres/sql.ts";
import { DAY_MS, WEEK_MS } from "../../core/time.ts";

/** Weeks start on Monday at midnight UTC. 1 January 1970 was a Thursday. */
const FIRST_MONDAY_MS = -3 * DAY_MS;
const WEEKS_AHEAD = 4;
/** Extra days before a week is dropped, for deliveries that end at the limit of the retention. */
const SLACK_DAYS = 7;

const weeklyPartitions: PartitionScheme = {
  // Partitioned by the time in a UUIDv7: the delivery's id for both tables.
  parents: ["webhook_delivery_finished", "webhook_attempt"],
  rangeAt: weekOf,
  // "wamp"
  lockKey: 0x77616d70,
};

/** Creates missing partitions, from the oldest retained week to four weeks ahead. Returns their names. Safe to run concurrently. */
export async function ensurePartitions(
  database: Queryable,
  nowMs: number,
  retentionDays: number,
): Promise<string[]> {
  const fromMs = await retentionStartMs(database, nowMs, retentionDays);
  return createMissingPartitions(database, weeklyPartitions, { fromMs, toMs: nowMs + WEEKS_AHEAD * WEEK_MS });
}

/** Drops partitions that ended more than `retentionDays` plus a week ago. Returns their names. */
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

/** Keeps the week of the oldest pending delivery: its attempts are there, and it moves there when it finishes. */
async function retentionStartMs(database: Queryable, nowMs: number, retentionDays: number): Promise<number> {
  const byAgeMs = nowMs - (retentionDays + SLACK_DAYS) * DAY_MS;
  const [oldest] = await database.query<{ id: string }>(
    sql`select id from webhook_delivery where status = 'pending' order by id limit 1`,
  );
  return oldest === undefined ? byAgeMs : Math.min(byAgeMs, Date.parse(timestampOf(oldest.id)));
}

/** The ISO 8601 week of an instant. */
function weekOf(ms: number): PartitionRange {
  const startMs = Math.floor((ms - FIRST_MONDAY_MS) / WEEK_MS) * WEEK_MS + FIRST_MONDAY_MS;
  // An ISO week belongs to the year of its Thursday.
  const thursdayMs = startMs + 3 * DAY_MS;
  const year = new Date(thursdayMs).getUTCFullYear();
  const number = Math.floor((thursdayMs - Date.UTC(year, 0, 1)) / WEEK_MS) + 1;
  return { name: `${year}w${String(number).padStart(2, "0")}`, startMs, endMs: startMs + WEEK_MS };
}
