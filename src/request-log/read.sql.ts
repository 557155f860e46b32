/** Reads the request log and usage counters of one organisation. */
import { z } from "zod";
import { decodeCursor, encodeCursor, type ListCursor } from "../core/cursor.ts";
import type { Queryable } from "../core/postgres/database.ts";
import { timestampOf, minUuidAt, fromTypedId, toTypedId } from "../core/ids.ts";
import type { Page, PageRequest } from "../core/postgres/list-page.ts";
import { join, raw, sql, type Sql } from "../core/postgres/sql.ts";
import { DAY_MS } from "../core/time.ts";
import { toUtcDay } from "./partitions.sql.ts";

/** 2xx or 3xx, 4xx, and 5xx. */
export const requestOutcomes = ["succeeded", "refused", "failed"] as const;
type RequestLogOutcome = (typeof requestOutcomes)[number];

export interface RequestLogFilter {
  /** The `request_id` of the response. */
  readonly requestId?: string | undefined;
  readonly outcome?: RequestLogOutcome | undefined;
  /** Typed. */
  readonly keyId?: string | undefined;
}

export interface RequestLogListOptions extends PageRequest {
  readonly filter: RequestLogFilter;
}

/** A request as its organisation sees it. Ids are typed, times ISO 8601. */
export interface RequestLogEntryView {
  readonly requestId: string;
  readonly at: string;
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly durationMs: number;
  readonly errorCode: string | null;
  readonly keyId: string;
  readonly keyName: string | null;
  readonly requestBody: string | null;
  readonly responseBody: string | null;
  /** The simulated failure, as the client asked for it; null if none. */
  readonly simulated: string | null;
}

export interface UsageView {
  readonly day: string;
  readonly keyId: string;
  readonly keyName: string | null;
  readonly succeeded: number;
  readonly refused: number;
  readonly failed: number;
  readonly meanDurationMs: number;
}

/** `organizationId`: a uuid; null for an operator, who can find a request only by its id. */
export interface RequestLogReader {
  readonly organizationId: string | null;
  /** Without `jobs:read` the reader sees no bodies and no Marking Numbers, which paths contain. */
  readonly scopes: readonly string[];
}

/** As in the database: uuids, and milliseconds not rounded. */
interface RequestLogRow extends Omit<RequestLogEntryView, "requestId" | "at"> {
  readonly id: string;
}

interface UsageRow extends Omit<UsageView, "meanDurationMs"> {
  readonly durationMs: number;
}

const CURSOR = "requests";

export const requestLogCursor: ListCursor<RequestLogEntryView> = {
  encode: ({ requestId }) => encodeCursor(CURSOR, [fromTypedId("req", requestId)]),
  // Request ids are ULIDs stored as uuids, so they have no UUID version.
  decode: (text) => decodeCursor(CURSOR, z.tuple([z.guid()]), text)?.[0] ?? null,
};

/** Lists requests, newest first. `sinceMs`: the oldest time to include, in milliseconds since 1970. */
export async function listRequestLog(
  database: Queryable,
  reader: RequestLogReader,
  { filter, limit, after, sinceMs }: RequestLogListOptions & { sinceMs: number },
): Promise<Page<RequestLogEntryView>> {
  const conditions = filterConditions(reader, filter);
  if (conditions === null || (reader.organizationId === null && filter.requestId === undefined))
    return { items: [], hasMore: false };
  const all = [
    ...conditions,
    sql`log.id >= ${minUuidAt(new Date(sinceMs))}::uuid`,
    ...(after === null ? [] : [sql`log.id < ${after}::uuid`]),
  ];
  const rows = await database.query<RequestLogRow>(sql`
    select page.*, api_key.name as "keyName"
    from (${newestEntriesSql(all, limit + 1, await daysWithUsage(database, reader, filter))}) page
      left join api_key on api_key.id = page."keyId"
    order by page.id desc`);
  const toView = reader.scopes.includes("jobs:read") ? toEntryView : toViewWithoutJobs;
  return { items: rows.slice(0, limit).map(toView), hasMore: rows.length > limit };
}

/** `days`: search only these days, each with its own index scan; null: any time. */
function newestEntriesSql(conditions: readonly Sql[], limit: number, days: readonly string[] | null): Sql {
  const newest = (extraConditions: readonly Sql[]): Sql => sql`
    select log.id, method, path, status, duration_ms as "durationMs", error_code as "errorCode", key_id as "keyId",
      request_body as "requestBody", response_body as "responseBody",
      simulated
    from request_log log where ${join([...conditions, ...extraConditions], " and ")} order by log.id desc limit ${limit}`;
  if (days === null) return newest([]);
  const starts = days.map((day) => minIdAt(Date.parse(day)));
  const ends = days.map((day) => minIdAt(Date.parse(day) + DAY_MS));
  return sql`
    select log.* from unnest(${starts}::uuid[], ${ends}::uuid[]) day (first_id, end_id)
      cross join lateral (${newest([sql`log.id >= first_id`, sql`log.id < end_id`])}) log
    order by log.id desc limit ${limit}`;
}

/**
 * Returns the days on which the filter's key was used, from the usage counters; null if the filter needs none. The log has
 * no index by key, which would make writing a third slower.
 */
async function daysWithUsage(
  database: Queryable,
  { organizationId }: Pick<RequestLogReader, "organizationId">,
  { keyId, requestId }: RequestLogFilter,
): Promise<string[] | null> {
  if (keyId === undefined || requestId !== undefined || organizationId === null) return null;
  const rows = await database.query<{ day: string }>(sql`
    select day::text from request_usage
    where organization_id = ${organizationId}::uuid and key_id = ${fromTypedId("key", keyId)}::uuid`);
  return rows.map(({ day }) => day);
}

/** Returns the lowest request id of that time. `minUuidAt` doesn't fit, as ULIDs have no version bits. */
function minIdAt(ms: number): string {
  return `${minUuidAt(new Date(ms)).slice(0, 13)}-0000-0000-000000000000`;
}

/** Returns usage by day and key, oldest day first. `days`: the number of days, including today. */
export async function listUsage(
  database: Queryable,
  organizationId: string,
  { nowMs, days }: { nowMs: number; days: number },
): Promise<UsageView[]> {
  const rows = await database.query<UsageRow>(sql`
    select day::text, key_id as "keyId", api_key.name as "keyName", succeeded::float8, refused::float8, failed::float8,
      duration_ms as "durationMs"
    from request_usage left join api_key on api_key.id = key_id
    where request_usage.organization_id = ${organizationId}::uuid
      and day > ${toUtcDay(nowMs - days * DAY_MS)}::date
    order by day, key_id`);
  return rows.map(({ keyId, durationMs, ...row }) => ({
    ...row,
    keyId: toTypedId("key", keyId),
    meanDurationMs: roundToHundredths(durationMs / (row.succeeded + row.refused + row.failed)),
  }));
}

/** Returns null if nothing can match. */
function filterConditions(
  { organizationId }: RequestLogReader,
  { requestId, outcome, keyId }: RequestLogFilter,
): Sql[] | null {
  const request = requestId === undefined ? undefined : fromTypedId("req", requestId);
  const key = keyId === undefined ? undefined : fromTypedId("key", keyId);
  if (request === null || key === null) return null;
  return [
    ...(organizationId === null ? [] : [sql`log.organization_id = ${organizationId}::uuid`]),
    ...(request === undefined ? [] : [sql`log.id = ${request}::uuid`]),
    ...(key === undefined ? [] : [sql`key_id = ${key}::uuid`]),
    ...(outcome === undefined ? [] : [outcomeConditions[outcome]]),
  ];
}

/** `status >= 400` in both conditions lets the planner use the partial index of failed requests. */
const outcomeConditions: Readonly<Record<RequestLogOutcome, Sql>> = {
  succeeded: raw("status < 400"),
  refused: raw("status >= 400 and status < 500"),
  failed: raw("status >= 400 and status >= 500"),
};

function toEntryView({ id, keyId, durationMs, ...row }: RequestLogRow): RequestLogEntryView {
  return {
    ...row,
    requestId: toTypedId("req", id),
    at: timestampOf(id),
    keyId: toTypedId("key", keyId),
    durationMs: roundToHundredths(durationMs),
  };
}

function toViewWithoutJobs(row: RequestLogRow): RequestLogEntryView {
  const path = row.path.replace(/^(\/v1\/(?:test\/)?jobs\/by-marking\/)[^/]+/, "$1***");
  return { ...toEntryView(row), path, requestBody: null, responseBody: null };
}

function roundToHundredths(ms: number): number {
  return Math.round(ms * 100) / 100;
}
