/** Events without the jobs that they left: by their ids, as the histories of many jobs at once, and as the feed. */
import type { Clock } from "../platform/clock.ts";
import type { Queryable } from "../platform/database.ts";
import { inOrder } from "../platform/in-order.ts";
import type { Viewer } from "../platform/principal.ts";
import { join, raw, sql, type Sql } from "../platform/sql.ts";
import { visibleTo } from "../jobs/job.visibility.ts";
import {
  eventColumns,
  placeColumns,
  readFeed,
  type FeedQuery,
  type FeedRows,
  type Place,
} from "./event.service.ts";
import type { EventRow } from "./event.wire.ts";

/** An event with its place in the feed; `job_id` is its job's uuid. */
export type PlacedEventRow = Omit<EventRow, "job"> & Place & { job_id: string };

export interface HistoryRequest {
  limit: number;
  /** Only events before this one; null: from the newest on. */
  beforeSequence: number | null;
}

export interface HistoryRows {
  /** The newest first. */
  items: PlacedEventRow[];
  hasMore: boolean;
}

const columns = sql`${eventColumns}, job_event.job_id, ${placeColumns}`;

/**
 * Events by their uuids, in the order asked; null in the place of what is not visible. Visible are the events of the feed
 * and those in the histories of visible jobs.
 */
export async function eventsById(
  queryable: Queryable,
  viewer: Viewer,
  ids: readonly string[],
): Promise<(PlacedEventRow | null)[]> {
  if (ids.length === 0) return [];
  const rows = await queryable.query<PlacedEventRow>(sql`
    select ${columns} from job_event join job on job.id = job_event.job_id
    where job_event.id = any(${ids}::uuid[]) and (${visibleTo(viewer, "job_event")} or ${visibleTo(viewer)})`);
  return inOrder(ids, rows, (row) => row.id);
}

/**
 * A page of the history of each of these jobs (uuids), in their order, in one statement: whoever sees a job sees all that
 * happened to it, of others nothing.
 */
export async function historyOf(
  queryable: Queryable,
  viewer: Viewer,
  jobIds: readonly string[],
  request: HistoryRequest,
): Promise<HistoryRows[]> {
  if (jobIds.length === 0) return [];
  const { columns: history, joins } = historyBeside(request);
  const rows = await queryable.query<HistoryColumn>(sql`
    select job.id, ${history} from job ${joins} where job.id = any(${jobIds}::uuid[]) and ${visibleTo(viewer)}`);
  const ofJob = new Map(rows.map((row) => [row.id, toHistory(row, request)]));
  return jobIds.map((id) => ofJob.get(id) ?? { items: [], hasMore: false });
}

/** A page of its history beside each `job` of a statement, which must be a visible one. Read by `toHistory`. */
export interface HistoryColumn {
  readonly id: string;
  /** The newest first, and one more where there are more. */
  readonly history: readonly Omit<PlacedEventRow, "job_id">[] | null;
}

/** What of an event is read only where somebody asks for it: a page holds hundreds of them. */
export interface EventDetails {
  readonly requestId: boolean;
  readonly place: boolean;
}

const allDetails: EventDetails = { requestId: true, place: true };

/** As JSON: one value a job, since `pg` takes longer over many small ones. */
export function historyBeside(
  { limit, beforeSequence }: HistoryRequest,
  { requestId, place }: EventDetails = allDetails,
): { columns: Sql; joins: Sql } {
  const before = beforeSequence === null ? raw("") : sql`and sequence < ${beforeSequence}`;
  const details = [requestId ? raw(", request_id") : raw(""), place ? sql`, ${placeColumns}` : raw("")];
  return {
    columns: raw("past.history"),
    joins: sql`left join lateral (
      select json_agg(event) as history from (
        select id, type, sequence, actor_type, actor_id, occurred_at, changes ${join(details, "")}
        from job_event where job_event.job_id = job.id ${before}
        order by sequence desc limit ${limit + 1}
      ) event
    ) past on true`,
  };
}

export function toHistory({ id, history }: HistoryColumn, { limit }: HistoryRequest): HistoryRows {
  const found = history ?? [];
  // The events are this function's alone: to add to them costs less than to copy them.
  const items = found.slice(0, limit).map((event) => Object.assign(event, { job_id: id }));
  return { items, hasMore: found.length > limit };
}

/** A page of the feed, oldest first. */
export async function eventFeed(
  { database, clock }: { database: Queryable; clock: Clock },
  viewer: Viewer,
  query: FeedQuery,
): Promise<FeedRows<PlacedEventRow>> {
  return await readFeed<PlacedEventRow>({ database, clock }, viewer, { query, columns });
}
