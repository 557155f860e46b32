/** Positions in the feed: the newest one, the oldest one that is still readable, and the feed's lag. */
import type { Queryable } from "../platform/postgres/database.ts";
import { minUuidAt } from "../platform/ids.ts";
import { raw, sql, type Sql } from "../platform/postgres/sql.ts";

/** A position in the feed: feed sequence and position of an event, both as decimal text. */
export interface FeedPosition {
  transactionId: string;
  position: string;
}

/** A `FeedPosition` with the column names of PostgreSQL. */
export interface FeedPositionRow {
  transaction_id: string;
  position: string;
}

const FEED_DAYS = 30;
/** Far longer than a transaction runs after it created its event ids, plus the clock difference between servers. */
export const ID_SLACK_MS = 3_600_000;
const FEED_START: FeedPosition = { transactionId: "0", position: "0" };
const columns = raw('transaction_id::text as "transactionId", position::text as position');

/** The time of the oldest events in the feed, in milliseconds since 1970. */
export function feedStartMs(nowMs: number): number {
  return nowMs - FEED_DAYS * 86_400_000;
}

/** The position of the newest event in the feed, of any organisation. */
export function newestPosition(database: Queryable): Promise<FeedPosition> {
  return queryPosition(
    database,
    sql`select ${columns} from job_event
      where transaction_id < feed_sequence(pg_snapshot_xmin(pg_current_snapshot()))
      order by job_event.transaction_id desc, job_event.position desc limit 1`,
  );
}

/** A position near the start of the feed that stays valid for another hour. */
export function oldestPosition(database: Queryable, nowMs: number): Promise<FeedPosition> {
  const valid = minUuidAt(new Date(feedStartMs(nowMs) + ID_SLACK_MS));
  return queryPosition(
    database,
    sql`select ${columns} from job_event where id < ${valid}::uuid order by id desc limit 1`,
  );
}

/**
 * The age in seconds of the oldest committed event that the feed hides because an older transaction is open in the PostgreSQL
 * cluster; 0 if none is hidden.
 */
export async function feedLagSeconds(database: Queryable): Promise<number> {
  const [hidden] = await database.query<{ seconds: number }>(
    raw(`
    select greatest(0, extract(epoch from clock_timestamp() - occurred_at))::float8 as seconds from job_event
    where transaction_id >= feed_sequence(pg_snapshot_xmin(pg_current_snapshot()))
    order by transaction_id, position limit 1`),
  );
  return hidden?.seconds ?? 0;
}

async function queryPosition(database: Queryable, statement: Sql): Promise<FeedPosition> {
  const [position] = await database.query<FeedPosition>(statement);
  return position ?? FEED_START;
}
