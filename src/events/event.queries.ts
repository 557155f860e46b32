/** Events without the jobs that they left: by their ids, as the histories of many jobs at once, and as the feed. */
import type { Clock } from "../platform/clock.ts";
import type { Queryable } from "../platform/postgres/database.ts";
import { alignByKey } from "../platform/postgres/align-by-key.ts";
import type { Principal } from "../platform/principal.ts";
import { join, raw, sql, type Sql } from "../platform/postgres/sql.ts";
import { visibleTo } from "../jobs/api.ts";
import {
  eventColumns,
  feedPositionColumns,
  readFeed,
  type FeedQuery,
  type FeedRows,
  type Place,
} from "./event.service.ts";
import type { EventRow } from "./event.wire.ts";

/** An event with its place in the feed; `job_id` is its job's uuid. */
export type EventWithPosition = Omit<EventRow, "job"> & Place & { job_id: string };

export interface HistoryRequest {
  limit: number;
  /** Only events before this one; null: from the newest on. */
  beforeSequence: number | null;
}

export interface HistoryRows {
  /** The newest first. */
  items: EventWithPosition[];
  hasMore: boolean;
}

const columns = sql`${eventColumns}, job_event.job_id, ${feedPositionColumns}`;

/**
 * Events by their uuids, in the order asked; null in the place of what is not visible. Visible are the events of the feed
 * and those in the histories of visible jobs.
 */
export async function findEventsById(
  queryable: Queryable,
  principal: Principal,
  ids: readonly string[],
): Promise<(EventWithPosition | null)[]> {
  if (ids.length === 0) return [];
  const rows = await queryable.query<EventWithPosition>(sql`
    select ${columns} from job_event join job on job.id = job_event.job_id
    where job_event.id = any(${ids}::uuid[]) and (${visibleTo(principal, "job_event")} or ${visibleTo(principal)})`);
  return alignByKey(ids, rows, (row) => row.id);
}

/**
 * A page of the history of each of these jobs (uuids), in their order, in one statement: whoever sees a job sees all that
 * happened to it, of others nothing.
 */
export async function historiesOf(
  queryable: Queryable,
  principal: Principal,
  jobIds: readonly string[],
  request: HistoryRequest,
): Promise<HistoryRows[]> {
  if (jobIds.length === 0) return [];
  const { columns: history, joins } = historyJoin(request);
  const rows = await queryable.query<HistoryRow>(sql`
    select job.id, ${history} from job ${joins} where job.id = any(${jobIds}::uuid[]) and ${visibleTo(principal)}`);
  const pageByJob = new Map(rows.map((row) => [row.id, parseHistory(row, request)]));
  return jobIds.map((id) => pageByJob.get(id) ?? { items: [], hasMore: false });
}

/** A page of its history beside each `job` of a statement, which must be a visible one. Read by `toHistory`. */
export interface HistoryRow {
  readonly id: string;
  /** The newest first, and one more where there are more. */
  readonly history: readonly Omit<EventWithPosition, "job_id">[] | null;
}

/** What of an event is read only where somebody asks for it: a page holds hundreds of them. */
export interface EventDetails {
  readonly requestId: boolean;
  readonly position: boolean;
}

const allDetails: EventDetails = { requestId: true, position: true };

/** As JSON: one value a job, since `pg` takes longer over many small ones. */
export function historyJoin(
  { limit, beforeSequence }: HistoryRequest,
  { requestId, position }: EventDetails = allDetails,
): { columns: Sql; joins: Sql } {
  const beforeClause = beforeSequence === null ? raw("") : sql`and sequence < ${beforeSequence}`;
  const details = [
    requestId ? raw(", request_id") : raw(""),
    position ? sql`, ${feedPositionColumns}` : raw(""),
  ];
  return {
    columns: raw("past.history"),
    joins: sql`left join lateral (
      select json_agg(event) as history from (
        select id, type, sequence, actor_type, actor_id, occurred_at, changes ${join(details, "")}
        from job_event where job_event.job_id = job.id ${beforeClause}
        order by sequence desc limit ${limit + 1}
      ) event
    ) past on true`,
  };
}

export function parseHistory({ id, history }: HistoryRow, { limit }: HistoryRequest): HistoryRows {
  const events = history ?? [];
  // The events are this function's alone: to add to them costs less than to copy them.
  const items = events.slice(0, limit).map((event) => Object.assign(event, { job_id: id }));
  return { items, hasMore: events.length > limit };
}

/** A page of the feed, oldest first. */
export async function listFeedEvents(
  { database, clock }: { database: Queryable; clock: Clock },
  principal: Principal,
  query: FeedQuery,
): Promise<FeedRows<EventWithPosition>> {
  return await readFeed<EventWithPosition>({ database, clock }, principal, { query, columns });
}
