/** The feed of the events that a principal can see, oldest first, and positions in it. Decision 0046 has the limits. */
import type { Queryable } from "../core/postgres/database.ts";
import { AppError } from "../core/errors.ts";
import { minUuidAt } from "../core/ids.ts";
import type { Principal } from "../core/principal.ts";
import { raw, sql, type Sql } from "../core/postgres/sql.ts";
import { HOUR_MS, DAY_MS } from "../core/time.ts";
import { visibleTo } from "../jobs/api.ts";
import type { EventType } from "./entity.ts";
import { feedCursor, type FeedPosition } from "./cursors.ts";

export interface FeedQuery {
  after: FeedPosition | null;
  /** Empty: all types. */
  types: readonly EventType[];
  limit: number;
}

export interface FeedPage<Row> {
  items: Row[];
  hasMore: boolean;
  /** Position for the next page: the last item or, of a filtered feed, the last event read. Null if there is none. */
  end: FeedPosition | null;
}

export const FEED_DAYS = 30;
/** Far longer than a transaction runs after it created its event ids, plus the clock difference between servers. */
const ID_SLACK_MS = HOUR_MS;
/** The maximum number of visible events that one page of a filtered feed scans. */
const MAX_SCANNED = 10_000;

export const FEED_START: FeedPosition = { transaction_id: "0", position: "0" };
export const feedPositionColumns = raw("transaction_id::text as transaction_id, position::text as position");

/** The position of the newest event in the feed, of any organisation. */
export function newestPosition(queryable: Queryable): Promise<FeedPosition> {
  return queryPosition(
    queryable,
    sql`where transaction_id < feed_sequence(pg_snapshot_xmin(pg_current_snapshot()))
      order by job_event.transaction_id desc, job_event.position desc`,
  );
}

/** A position near the start of the feed that stays valid for another hour. */
function oldestPosition(queryable: Queryable, nowMs: number): Promise<FeedPosition> {
  const valid = minUuidAt(new Date(nowMs - FEED_DAYS * DAY_MS + ID_SLACK_MS));
  return queryPosition(queryable, sql`where id < ${valid}::uuid order by id desc`);
}

async function queryPosition(queryable: Queryable, clauses: Sql): Promise<FeedPosition> {
  const [position] = await queryable.query<FeedPosition>(
    sql`select ${feedPositionColumns} from job_event ${clauses} limit 1`,
  );
  return position ?? FEED_START;
}

/**
 * The age in seconds of the oldest committed event that the feed hides because an older transaction is open in the PostgreSQL
 * cluster; 0 if none is hidden.
 */
export async function feedLagSeconds(queryable: Queryable): Promise<number> {
  const [hidden] = await queryable.query<{ seconds: number }>(
    raw(`
    select greatest(0, extract(epoch from clock_timestamp() - occurred_at))::float8 as seconds from job_event
    where transaction_id >= feed_sequence(pg_snapshot_xmin(pg_current_snapshot()))
    order by transaction_id, position limit 1`),
  );
  return hidden?.seconds ?? 0;
}

/**
 * Returns the feed sequence of the newest event of the organisation's jobs, or 0. A replica must have that change to answer the
 * organisation.
 */
export async function newestChange(database: Queryable, organizationId: string): Promise<bigint> {
  const [row] = await database.query<{ newest: string | null }>(sql`select greatest(
    (select transaction_id from job_event where agent_id = ${organizationId}::uuid order by transaction_id desc limit 1),
    (select transaction_id from job_event where contractor_id = ${organizationId}::uuid order by transaction_id desc limit 1)
  )::text as newest`);
  return BigInt(row?.newest ?? 0);
}

interface ScannedRow extends FeedPosition {
  is_expired: boolean;
  id: string | null;
  /** Absent without a filter. */
  matches?: boolean;
  is_last_scanned?: boolean;
  is_scan_full?: boolean;
}

/** Returns `columns` of a page of the feed. Throws GoneException if events after the cursor are older than 30 days. */
export async function readFeed<Row>(
  queryable: Queryable,
  principal: Principal,
  { query, columns, nowMs }: { query: FeedQuery; columns: Sql; nowMs: number },
): Promise<FeedPage<Row & FeedPosition>> {
  const statement = feedStatement(principal, {
    query,
    columns: sql`${columns}, ${feedPositionColumns}`,
    nowMs,
  });
  const scanned = await queryable.query<Row & ScannedRow>(statement);
  if (scanned[0]?.is_expired) throw await expiredCursor(queryable, nowMs);
  const rows = scanned.filter(({ id, matches }) => id !== null && matches !== false);
  const items = rows.slice(0, query.limit);
  if (rows.length > query.limit) return { items, hasMore: true, end: items.at(-1) ?? null };
  const last = scanned.at(-1);
  // Without matches too: a reader that polls for rare types must not keep a cursor until it expires.
  if (last?.is_last_scanned) return { items, hasMore: last.is_scan_full === true, end: last };
  return { items, hasMore: false, end: items.at(-1) ?? null };
}

/** Returns the error of a cursor whose next events have left the feed. */
export async function expiredCursor(queryable: Queryable, nowMs: number): Promise<AppError> {
  const oldest = await oldestPosition(queryable, nowMs);
  return new AppError(
    "GoneException",
    "Events after this cursor are older than 30 days and have left the feed. Take a new cursor with after=latest, " +
      "list the jobs, then follow the feed; or continue from details.oldest_cursor without the events before it.",
    { details: { oldest_cursor: feedCursor(oldest) } },
  );
}

/** Selects `columns` of the page and `is_expired`. Without events the result is one row with null columns. */
function feedStatement(
  principal: Principal,
  { query: { after, types, limit }, columns, nowMs }: { query: FeedQuery; columns: Sql; nowMs: number },
): Sql {
  const oldestMs = nowMs - FEED_DAYS * DAY_MS;
  const [oldest, oldestWithSlack] = [oldestMs, oldestMs - ID_SLACK_MS].map((ms) => minUuidAt(new Date(ms)));
  const { transaction_id: transactionId, position } = after ?? FEED_START;
  // The cursor has expired if the next visible event after it is too old for the feed: the reader would miss it.
  const isExpired = after
    ? sql`coalesce((select job_event.id < ${oldest}::uuid from job_event
        where ${visibleTo(principal, "job_event")}
          and (transaction_id, position) > (${transactionId}::xid8, ${position}::bigint)
        order by job_event.transaction_id, job_event.position limit 1), false)`
    : sql`false`;
  // Event ids are ordered by time, so the primary key finds the position (with slack) where the last 30 days start. The
  // scan starts at the later of that position and the cursor; two conditions would not both limit the index scan.
  // Events at or after the oldest running transaction are hidden: that transaction could still commit an event that sorts
  // before them, and a reader that has moved on would miss it.
  const visible = sql`from job_event
    where ${visibleTo(principal, "job_event")}
      and not expired.is_expired
      and (transaction_id, position) > ((select transaction_id from scan_start), (select position from scan_start))
      and job_event.id >= ${oldest}::uuid
      and transaction_id < feed_sequence(pg_snapshot_xmin(pg_current_snapshot()))`;
  // Qualified, because the bare names would refer to the selected columns, which are text.
  const unfiltered = sql`select ${columns} ${visible}
    order by job_event.transaction_id, job_event.position limit ${limit + 1}`;
  return sql`
    with scan_start as materialized (
      select * from (
        values (${transactionId}::xid8, ${position}::bigint)
        union all (select transaction_id, 0 from job_event where id < ${oldestWithSlack}::uuid order by id desc limit 1)
      ) candidates (transaction_id, position) order by transaction_id desc, position desc limit 1
    )
    select expired.is_expired, event.* from (select ${isExpired} as is_expired) expired left join lateral (
    ${types.length > 0 ? filteredSql(sql`select job_event.* ${visible}`, { types, limit }, columns) : unfiltered}
    ) event on true`;
}

/**
 * The events of `visible` with one of `types`, plus the last scanned event. Both come from one snapshot, so the next page
 * continues without a gap.
 */
function filteredSql(visible: Sql, { types, limit }: Pick<FeedQuery, "types" | "limit">, columns: Sql): Sql {
  const matches = sql`type = any(${types}::text[])`;
  const isFull = raw(`scan_number = ${String(MAX_SCANNED)}`);
  // The sub-select hides the limit from the planner, which would otherwise read and sort all rows if it expects fewer.
  const scanLimit = raw(`(select ${String(MAX_SCANNED)})`);
  return sql`
    select ${columns}, ${matches} as matches, is_last_scanned, ${isFull} as is_scan_full from (
      select visible.*, row_number() over feed as scan_number, lead(visible.id) over feed is null as is_last_scanned
      from (${visible} order by job_event.transaction_id, job_event.position limit ${scanLimit}) visible
      window feed as (order by visible.transaction_id, visible.position)
    ) job_event
    where ${matches} or is_last_scanned
    order by job_event.transaction_id, job_event.position limit ${limit + 1}`;
}
