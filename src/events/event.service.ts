/** Reading what happened: one job's history, and the feed of everything that an organisation may see. */
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

export type { FeedPosition, FeedPositionRow as Place };

export interface FeedPage {
  items: EventRow[];
  /** Where to go on: after the last item, or where the caller stood already. Null while nothing ever happened. */
  next: FeedPosition | null;
  hasMore: boolean;
}

export interface HistoryPage {
  items: Omit<EventRow, "job">[];
  total: number;
}

export interface EventService {
  /**
   * The events after `after` in the order of the feed, of the last 30 days; `types` empty: all. Throws GoneException if
   * events after `after` are older than that.
   */
  feed(viewer: Principal, query: FeedQuery): Promise<FeedPage>;
  /** The position from which `feed` continues with what happens from now on. */
  newestPosition(): Promise<FeedPosition>;
  /** The events of one visible job, newest first. */
  history(
    viewer: Principal,
    markingNumber: string,
    page: { offset: number; limit: number },
  ): Promise<HistoryPage>;
}

/** The columns of an event without the job that it left. */
export const eventColumns = raw(
  "job_event.id, type, sequence, actor_type, actor_id, request_id, occurred_at, changes",
);

export interface FeedQuery {
  after: FeedPosition | null;
  /** Empty: all. */
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

    async history(viewer, markingNumber, { offset, limit }) {
      const fromJobSql = sql`from job_event join job on job.id = job_event.job_id
        where job.marking_number = ${markingNumber} and ${visibleTo(viewer)}`;
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

/** Visible events that one page of a filtered feed reads at most. */
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

/** Selects `columns` of that page beside `is_expired`, in a row of nulls if there are no events. */
function feedStatement(
  principal: Principal,
  { after, types, limit }: FeedQuery,
  columns: Sql,
  now: number,
): Sql {
  const oldestMs = feedStartMs(now);
  const [oldest, oldestWithSlack] = [oldestMs, oldestMs - ID_SLACK_MS].map((ms) => minUuidAt(new Date(ms)));
  const { transactionId, position } = after ?? { transactionId: "0", position: "0" };
  // The first event after the cursor that this viewer may see: if it has left the feed, the reader would miss it.
  const isExpired = after
    ? sql`coalesce((select job_event.id < ${oldest}::uuid from job_event
        where ${visibleTo(principal, "job_event")}
          and (transaction_id, position) > (${transactionId}::xid8, ${position}::bigint)
        order by job_event.transaction_id, job_event.position limit 1), false)`
    : sql`false`;
  // Event ids are born in time order, but for those of one moment: so the primary key finds where the last 30 days begin in
  // the feed, with some time to spare, and each event's own id says whether it is of them. One place to begin at, the later
  // one: of two such conditions an index would begin at either.
  // No row of a transaction still running, or begun after one that is, is shown: it could be followed by a row that
  // sorts before it, which a reader who had moved on would never see.
  const visible = sql`from job_event
    where ${visibleTo(principal, "job_event")}
      and not expired.is_expired
      and (transaction_id, position) > ((select transaction_id from start), (select position from start))
      and job_event.id >= ${oldest}::uuid
      and transaction_id < feed_sequence(pg_snapshot_xmin(pg_current_snapshot()))`;
  // Ordered by the table's columns: the bare name would be that of the answer, whose numbers are text.
  const unfiltered = sql`select ${columns} ${visible}
    order by job_event.transaction_id, job_event.position limit ${limit + 1}`;
  return sql`
    with start as materialized (
      select * from (
        values (${transactionId}::xid8, ${position}::bigint)
        union all (select transaction_id, 0 from job_event where id < ${oldestWithSlack}::uuid order by id desc limit 1)
      ) place (transaction_id, position) order by transaction_id desc, position desc limit 1
    )
    select expired.is_expired, event.* from (select ${isExpired} as is_expired) expired left join lateral (
    ${types.length > 0 ? filteredSql(sql`select job_event.* ${visible}`, { types, limit }, columns) : unfiltered}
    ) event on true`;
}

/**
 * The events of `visible` that have one of `types`, and the last event read as a mark if that is the `MAX_SCANNED`th: the
 * scan and its end belong to one snapshot, so the next page continues there without a gap.
 */
function filteredSql(visible: Sql, { types, limit }: Pick<FeedQuery, "types" | "limit">, columns: Sql): Sql {
  const matches = sql`type = any(${types}::text[])`;
  const isLast = raw(`scan_number = ${String(MAX_SCANNED)}`);
  // A sub-select hides the number: where PostgreSQL expects fewer rows than it, it would read and sort all of them.
  const scanLimit = raw(`(select ${String(MAX_SCANNED)})`);
  return sql`
    select ${columns}, ${matches} as matches, ${isLast} as is_last_scanned from (
      select visible.*, row_number() over (order by visible.transaction_id, visible.position) as scan_number
      from (${visible} order by job_event.transaction_id, job_event.position limit ${scanLimit}) visible
    ) job_event
    where ${matches} or ${isLast}
    order by job_event.transaction_id, job_event.position limit ${limit + 1}`;
}
