/** Reads a job's history and the feed of all events visible to a principal. */
import type { Queryable } from "../platform/postgres/database.ts";
import { minUuidAt } from "../platform/ids.ts";
import type { Clock } from "../platform/clock.ts";
import { AppError } from "../platform/errors.ts";
import type { Principal } from "../platform/principal.ts";
import { raw, sql, type Sql } from "../platform/postgres/sql.ts";
import { visibleTo } from "../jobs/api.ts";
import type { EventType } from "./event.entity.ts";
import { feedCursorAt } from "./event.cursor.ts";
import {
  ID_SLACK_MS,
  newestPosition,
  feedStartMs,
  oldestPosition,
  type FeedPosition,
  type FeedPositionRow,
} from "./event.position.ts";
import type { EventRow } from "./event.wire.ts";

export interface FeedPage {
  items: EventRow[];
  /** The position for the next page; the caller's own position if there are no items. Null if both are missing. */
  next: FeedPosition | null;
  hasMore: boolean;
}

export interface HistoryPage {
  items: Omit<EventRow, "job">[];
  total: number;
}

export interface EventService {
  /** The events after `after`, oldest first. Throws GoneException if events after it are older than 30 days. */
  feed(principal: Principal, query: FeedQuery): Promise<FeedPage>;
  /** The position after which `feed` returns only events that are committed from now on. */
  newestPosition(): Promise<FeedPosition>;
  /** The events of one job, newest first. Empty if the job is not visible. */
  history(
    principal: Principal,
    markingNumber: string,
    page: { offset: number; limit: number },
  ): Promise<HistoryPage>;
}

/** The columns of an event without the job snapshot. */
export const eventColumns = raw(
  "job_event.id, type, sequence, actor_type, actor_id, request_id, occurred_at, changes",
);

export interface FeedQuery {
  after: FeedPosition | null;
  /** Empty: all types. */
  types: readonly EventType[];
  limit: number;
}

export function createEventService({ database, clock }: { database: Queryable; clock: Clock }): EventService {
  return {
    async feed(principal, query) {
      const columns = sql`${eventColumns}, job_event.job, ${feedPositionColumns}`;
      const { items, hasMore, end } = await readFeed<EventRow>({ database, clock }, principal, {
        query,
        columns,
      });
      const next = end ? { transactionId: end.transaction_id, position: end.position } : query.after;
      return { items, next, hasMore };
    },

    newestPosition: () => newestPosition(database),

    async history(principal, markingNumber, { offset, limit }) {
      const fromJobSql = sql`from job_event join job on job.id = job_event.job_id
        where job.marking_number = ${markingNumber} and ${visibleTo(principal)}`;
      const items = await database.query<Omit<EventRow, "job">>(
        sql`select ${eventColumns} ${fromJobSql} order by sequence desc limit ${limit} offset ${offset}`,
      );
      const [counted] = await database.query<{ total: number }>(
        sql`select count(*)::int as total ${fromJobSql}`,
      );
      return { items, total: counted?.total ?? 0 };
    },
  };
}

export const feedPositionColumns = raw("transaction_id::text as transaction_id, position::text as position");

/** The maximum number of visible events that one page of a filtered feed scans. */
const MAX_SCANNED = 10_000;

export interface FeedRows<Row> {
  items: (Row & FeedPositionRow)[];
  hasMore: boolean;
  /** Position for the next page: the last item or, if the page reached `MAX_SCANNED`, the last event read. */
  end: FeedPositionRow | null;
}

interface FeedScanColumns extends FeedPositionRow {
  is_expired: boolean;
  id: string | null;
  /** Absent without a filter. */
  matches?: boolean;
  is_last_scanned?: boolean;
}

/** Returns a page of the feed. Throws GoneException for an expired cursor. */
export async function readFeed<Row>(
  { database, clock }: { database: Queryable; clock: Clock },
  principal: Principal,
  { query, columns }: { query: FeedQuery; columns: Sql },
): Promise<FeedRows<Row>> {
  const statement = feedStatement(principal, query, columns, clock.now());
  const scanned = await database.query<Row & FeedScanColumns>(statement);
  if (scanned[0]?.is_expired) throw expiredCursor(await oldestPosition(database, clock.now()));
  const rows = scanned.filter(({ id, matches }) => id !== null && matches !== false);
  const items = rows.slice(0, query.limit);
  if (rows.length > query.limit) return { items, hasMore: true, end: items.at(-1) ?? null };
  const last = scanned.at(-1);
  if (last?.is_last_scanned) return { items, hasMore: true, end: last };
  return { items, hasMore: false, end: items.at(-1) ?? null };
}

function expiredCursor(oldest: FeedPosition): AppError {
  return new AppError(
    "GoneException",
    "Events after this cursor are older than 30 days and have left the feed. Take a new cursor with after=latest, " +
      "list the jobs, then follow the feed; or continue from details.oldest_cursor without the events before it.",
    { details: { oldest_cursor: feedCursorAt(oldest) } },
  );
}

/** Selects `columns` of the page and `is_expired`. Without events the result is one row with null columns. */
function feedStatement(
  principal: Principal,
  { after, types, limit }: FeedQuery,
  columns: Sql,
  now: number,
): Sql {
  const oldestMs = feedStartMs(now);
  const [oldest, oldestWithSlack] = [oldestMs, oldestMs - ID_SLACK_MS].map((ms) => minUuidAt(new Date(ms)));
  const { transactionId, position } = after ?? { transactionId: "0", position: "0" };
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
 * The events of `visible` with one of `types`, plus the last scanned event if the scan reached `MAX_SCANNED`. Both come from one
 * snapshot, so the next page continues without a gap.
 */
function filteredSql(visible: Sql, { types, limit }: Pick<FeedQuery, "types" | "limit">, columns: Sql): Sql {
  const matches = sql`type = any(${types}::text[])`;
  const isLast = raw(`scan_number = ${String(MAX_SCANNED)}`);
  // The sub-select hides the limit from the planner, which would otherwise read and sort all rows if it expects fewer.
  const scanLimit = raw(`(select ${String(MAX_SCANNED)})`);
  return sql`
    select ${columns}, ${matches} as matches, ${isLast} as is_last_scanned from (
      select visible.*, row_number() over (order by visible.transaction_id, visible.position) as scan_number
      from (${visible} order by job_event.transaction_id, job_event.position limit ${scanLimit}) visible
    ) job_event
    where ${matches} or ${isLast}
    order by job_event.transaction_id, job_event.position limit ${limit + 1}`;
}
