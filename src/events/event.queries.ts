/** Queries for events without the job snapshot: by id, as the histories of many jobs, and as the feed. */
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
} from "./event.service.ts";
import type { FeedPositionRow } from "./event.position.ts";
import type { EventRow } from "./event.wire.ts";

/** An event with its feed position; `job_id` is a UUID. */
export type EventWithPosition = Omit<EventRow, "job"> & FeedPositionRow & { job_id: string };

export interface HistoryRequest {
  limit: number;
  /** Only events with a lower sequence; null starts at the newest. */
  beforeSequence: number | null;
}

export interface HistoryRows {
  /** Newest first. */
  items: EventWithPosition[];
  hasMore: boolean;
}

const columns = sql`${eventColumns}, job_event.job_id, ${feedPositionColumns}`;

/**
 * Events in the order of `ids` (UUIDs), with null for what is not visible. A principal sees the events of its feed and of the
 * histories of visible jobs.
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
 * One page of history per job, in the order of `jobIds` (UUIDs), in one statement. A principal sees the whole history of a
 * visible job; other jobs have an empty page.
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

/** A row of a statement that uses `historyJoin`. Parse it with `parseHistory`. */
export interface HistoryRow {
  readonly id: string;
  /** Newest first, plus one event if there are more. */
  readonly history: readonly Omit<EventWithPosition, "job_id">[] | null;
}

/** Optional columns of an event. A page can have hundreds of events, so they are read only on request. */
export interface EventDetails {
  readonly requestId: boolean;
  readonly position: boolean;
}

const allDetails: EventDetails = { requestId: true, position: true };

/**
 * A lateral join that adds a page of history to each row of `job`. The caller's statement must check visibility. The page is one
 * JSON value, because `pg` parses one value faster than many rows.
 */
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
    columns: raw("history_page.history"),
    joins: sql`left join lateral (
      select json_agg(event) as history from (
        select id, type, sequence, actor_type, actor_id, occurred_at, changes ${join(details, "")}
        from job_event where job_event.job_id = job.id ${beforeClause}
        order by sequence desc limit ${limit + 1}
      ) event
    ) history_page on true`,
  };
}

export function parseHistory({ id, history }: HistoryRow, { limit }: HistoryRequest): HistoryRows {
  const events = history ?? [];
  // Nothing else uses the events, so extending them is cheaper than copying them.
  const items = events.slice(0, limit).map((event) => Object.assign(event, { job_id: id }));
  return { items, hasMore: events.length > limit };
}

/** Returns a page of the feed, oldest first. Throws GoneException for an expired cursor. */
export async function listFeedEvents(
  { database, clock }: { database: Queryable; clock: Clock },
  principal: Principal,
  query: FeedQuery,
): Promise<FeedRows<EventWithPosition>> {
  return await readFeed<EventWithPosition>({ database, clock }, principal, { query, columns });
}
