/** The histories of jobs, newest event first, and look-ups of events by id. */
import type { Queryable } from "../core/postgres/database.ts";
import { alignByKey } from "../core/postgres/align-by-key.ts";
import type { Principal } from "../core/principal.ts";
import { join, raw, sql, type Sql } from "../core/postgres/sql.ts";
import { visibleTo } from "../jobs/api.ts";
import type { FeedPosition } from "./cursors.ts";
import { feedPositionColumns } from "./feed.sql.ts";
import type { EventRow } from "./wire.ts";

/** An event without the job snapshot, with its feed position; `job_id` is a UUID. */
export type EventWithPosition = Omit<EventRow, "job"> &
  FeedPosition & {
    job_id: string;
    marking_number: string;
  };

const ownColumns = raw(
  "job_event.id, type, sequence, actor_type, actor_id, request_id, occurred_at, changes",
);

/** Columns of an event with the identity of its job, from the snapshot: the job may have been deleted. */
export const eventColumns = sql`${ownColumns}, (job_event.job ->> 'id')::uuid as job_id,
  job_event.job ->> 'marking_number' as marking_number`;

export const eventColumnsWithJob = sql`${ownColumns}, job_event.job`;

export interface HistoryRequest {
  limit: number;
  /** Only events with a lower sequence; null starts at the newest. */
  beforeSequence: number | null;
  /** Events to skip. Default: 0. */
  offset?: number;
}

export interface HistoryPage {
  /** Newest first. */
  items: EventWithPosition[];
  hasMore: boolean;
}

/** Optional columns of an event. A page can have hundreds of events, so they are read only on request. */
export interface EventDetails {
  readonly requestId: boolean;
  readonly position: boolean;
}

interface IdentityRow {
  readonly id: string;
  readonly marking_number: string;
}

/** A page of history that a statement on `job` reads with each row. */
export interface HistoryInclude {
  readonly columns: Sql;
  readonly joins: Sql;
  readonly read: (row: IdentityRow) => HistoryPage;
}

/** A row of a statement with a `HistoryInclude`: newest event first, plus one event if there are more. */
interface HistoryRow extends IdentityRow {
  readonly history: readonly Omit<EventWithPosition, "job_id" | "marking_number">[] | null;
}

/**
 * Adds a page of history to each row of `job`. The caller's statement must check visibility. The page is one JSON value,
 * because `pg` parses one value faster than many rows.
 */
export function includeHistory(
  { limit, beforeSequence, offset = 0 }: HistoryRequest,
  { requestId, position }: EventDetails = { requestId: true, position: true },
): HistoryInclude {
  const beforeClause = beforeSequence === null ? raw("") : sql`and sequence < ${beforeSequence}`;
  const offsetClause = offset === 0 ? raw("") : sql`offset ${offset}`;
  const details = [
    requestId ? raw(", request_id") : raw(""),
    position ? sql`, ${feedPositionColumns}` : raw(""),
  ];
  return {
    columns: raw("history_page.history"),
    joins: sql`left join lateral (
      select json_agg(event) as history from (
        select id, type, sequence, actor_type, actor_id, occurred_at, changes ${join(details, "")}
        from job_event where job_event.job_id = job.id ${beforeClause}
        order by sequence desc limit ${limit + 1} ${offsetClause}
      ) event
    ) history_page on true`,
    read(row) {
      const { id, marking_number, history } = row as HistoryRow;
      const events = history ?? [];
      // Nothing else uses the events, so extending them is cheaper than copying them.
      const items = events
        .slice(0, limit)
        .map((event) => Object.assign(event, { job_id: id, marking_number }));
      return { items, hasMore: events.length > limit };
    },
  };
}

/** One page of history per job, in the order of `jobIds` (UUIDs), in one statement. Empty for jobs that are not visible. */
export async function readHistories(
  queryable: Queryable,
  principal: Principal,
  { jobIds, request }: { jobIds: readonly string[]; request: HistoryRequest },
): Promise<HistoryPage[]> {
  const { columns, joins, read } = includeHistory(request);
  const rows = await queryable.query<IdentityRow>(sql`
    select job.id, job.marking_number, ${columns} from job ${joins} where job.id = any(${jobIds}::uuid[]) and ${visibleTo(principal)}`);
  return alignByKey(jobIds, rows, ({ id }) => id).map((row) =>
    row ? read(row) : { items: [], hasMore: false },
  );
}

/** A page of the history of the job with this Marking Number, and its number of events; null if the job is not visible. */
export async function readHistory(
  queryable: Queryable,
  principal: Principal,
  { markingNumber, request }: { markingNumber: string; request: HistoryRequest },
): Promise<(HistoryPage & { total: number }) | null> {
  const { columns, joins, read } = includeHistory(request, { requestId: true, position: false });
  const [row] = await queryable.query<IdentityRow & { total: number }>(sql`
    select job.id, job.marking_number, ${columns}, (select count(*)::int from job_event where job_event.job_id = job.id) as total
    from job ${joins} where job.marking_number = ${markingNumber} and ${visibleTo(principal)}`);
  return row ? { ...read(row), total: row.total } : null;
}

/** Events in the order of `ids` (UUIDs), with null for those that are neither in the principal's feed nor of a visible job. */
export async function findEventsById(
  queryable: Queryable,
  principal: Principal,
  ids: readonly string[],
): Promise<(EventWithPosition | null)[]> {
  const rows = await queryable.query<EventWithPosition>(sql`
    select ${eventColumns}, ${feedPositionColumns} from job_event left join job on job.id = job_event.job_id
    where job_event.id = any(${ids}::uuid[]) and (${visibleTo(principal, "job_event")} or job.id is not null and ${visibleTo(principal)})`);
  return alignByKey(ids, rows, (row) => row.id);
}
