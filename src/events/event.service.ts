/** Reading what happened: one job's history, and the feed of everything that an organisation may see. */
import type { Queryable } from "../platform/database.ts";
import { firstUuidOf } from "../platform/ids.ts";
import type { Clock } from "../platform/clock.ts";
import { AppError } from "../platform/errors.ts";
import type { Viewer } from "../platform/principal.ts";
import { raw, sql, type Sql } from "../platform/sql.ts";
import { visibleTo } from "../jobs/job.visibility.ts";
import type { EventType } from "./event.entity.ts";
import { feedCursorAt } from "./event.cursor.ts";
import {
  ID_SLACK_MS,
  newestPosition,
  oldestOf,
  oldestPosition,
  type FeedPosition,
  type Place,
} from "./event.position.ts";
import type { EventRow } from "./event.wire.ts";

export type { FeedPosition, Place };

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
  feed(viewer: Viewer, query: FeedQuery): Promise<FeedPage>;
  /** The position from which `feed` continues with what happens from now on. */
  newest(): Promise<FeedPosition>;
  /** The events of one visible job, newest first. */
  history(
    viewer: Viewer,
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
    async feed(viewer, query) {
      const columns = sql`${eventColumns}, job_event.job, ${placeColumns}`;
      const rows = await readFeed<EventRow & Place>({ database, clock }, viewer, { query, columns });
      const items = rows.slice(0, query.limit);
      const last = items.at(-1);
      const next = last ? { transactionId: last.transaction_id, position: last.position } : query.after;
      return { items, next, hasMore: rows.length > query.limit };
    },

    newest: () => newestPosition(database),

    async history(viewer, markingNumber, { offset, limit }) {
      const ofJob = sql`from job_event join job on job.id = job_event.job_id
        where job.marking_number = ${markingNumber} and ${visibleTo(viewer)}`;
      const items = await database.query<Omit<EventRow, "job">>(
        sql`select ${eventColumns} ${ofJob} order by sequence desc limit ${limit} offset ${offset}`,
      );
      const [counted] = await database.query<{ total: number }>(sql`select count(*)::int as total ${ofJob}`);
      return { items, total: counted?.total ?? 0 };
    },
  };
}

export const placeColumns = raw("transaction_id::text as transaction_id, position::text as position");

/** A page of the feed, and one event more where there are more. Throws GoneException for an expired cursor. */
export async function readFeed<Row extends Place>(
  { database, clock }: { database: Queryable; clock: Clock },
  viewer: Viewer,
  { query, columns }: { query: FeedQuery; columns: Sql },
): Promise<Row[]> {
  const statement = feedStatement(viewer, query, columns, clock.now());
  const rows = await database.query<Row & { is_expired: boolean; id: string | null }>(statement);
  if (rows[0]?.is_expired) throw expiredCursor(await oldestPosition(database, clock.now()));
  return rows.filter(({ id }) => id !== null);
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
function feedStatement(viewer: Viewer, { after, types, limit }: FeedQuery, columns: Sql, now: number): Sql {
  const oldestMs = oldestOf(now);
  const [oldest, surelyOlder] = [oldestMs, oldestMs - ID_SLACK_MS].map((ms) => firstUuidOf(new Date(ms)));
  const { transactionId, position } = after ?? { transactionId: "0", position: "0" };
  // The first event after the cursor that this viewer may see: if it has left the feed, the reader would miss it.
  const isExpired = after
    ? sql`coalesce((select job_event.id < ${oldest}::uuid from job_event
        where ${visibleTo(viewer, "job_event")}
          and (transaction_id, position) > (${transactionId}::xid8, ${position}::bigint)
        order by job_event.transaction_id, job_event.position limit 1), false)`
    : sql`false`;
  // Event ids are born in time order, but for those of one moment: so the primary key finds where the last 30 days begin in
  // the feed, with some time to spare, and each event's own id says whether it is of them. One place to begin at, the later
  // one: of two such conditions an index would begin at either.
  // No row of a transaction still running, or begun after one that is, is shown: it could be followed by a row that
  // sorts before it, which a reader who had moved on would never see.
  // Ordered by the table's columns: the bare name would be that of the answer, whose numbers are text.
  return sql`
    with start as materialized (
      select * from (
        values (${transactionId}::xid8, ${position}::bigint)
        union all (select transaction_id, 0 from job_event where id < ${surelyOlder}::uuid order by id desc limit 1)
      ) place (transaction_id, position) order by transaction_id desc, position desc limit 1
    )
    select expired.is_expired, event.* from (select ${isExpired} as is_expired) expired left join lateral (
    select ${columns} from job_event
    where ${visibleTo(viewer, "job_event")}
      and not expired.is_expired
      and (transaction_id, position) > ((select transaction_id from start), (select position from start))
      and job_event.id >= ${oldest}::uuid
      and transaction_id < feed_number(pg_snapshot_xmin(pg_current_snapshot()))
      ${types.length > 0 ? sql`and type = any(${types}::text[])` : sql``}
    order by job_event.transaction_id, job_event.position limit ${limit + 1}
    ) event on true`;
}
