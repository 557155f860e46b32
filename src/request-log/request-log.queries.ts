/** Reads the request log and usage counters of one organisation. */
import { z } from "zod";
import { decodeCursor, encodeCursor } from "../platform/cursor.ts";
import type { Queryable } from "../platform/postgres/database.ts";
import { timestampOf, minUuidAt, fromTypedId, toTypedId } from "../platform/ids.ts";
import { join, raw, sql, type Sql } from "../platform/postgres/sql.ts";
import { toUtcDay } from "./request-log.partitions.ts";

export const requestLogOutcomes = ["succeeded", "refused", "failed"] as const;
export type RequestLogOutcome = (typeof requestLogOutcomes)[number];

export interface RequestLogFilter {
  /** The `request_id` of the response. */
  readonly requestId?: string | undefined;
  readonly outcome?: RequestLogOutcome | undefined;
  /** Typed. */
  readonly keyId?: string | undefined;
}

export interface RequestLogListOptions {
  readonly filter: RequestLogFilter;
  readonly limit: number;
  /** Start after the request with this uuid. */
  readonly afterId?: string | undefined;
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
}

export interface RequestLogPage {
  /** Newest first. */
  readonly items: RequestLogEntryView[];
  readonly hasNext: boolean;
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
}

interface RequestLogRow {
  id: string;
  method: string;
  path: string;
  status: number;
  duration_ms: number;
  error_code: string | null;
  key_id: string;
  key_name: string | null;
  request_body: string | null;
  response_body: string | null;
}

interface UsageRow {
  day: string;
  key_id: string;
  key_name: string | null;
  succeeded: number;
  refused: number;
  failed: number;
  duration_ms: number;
}

const CURSOR = "requests";
const DAY_MS = 86_400_000;

/** The list cursor of a request. */
export function requestLogCursor({ requestId }: RequestLogEntryView): string {
  return encodeCursor(CURSOR, [fromTypedId("req", requestId)]);
}

/** Returns the uuid of the request at the cursor, or null if `text` is not a cursor of this list. */
export function readRequestLogCursor(text: string): string | null {
  // Request ids are ULIDs stored as uuids, so they have no UUID version.
  return decodeCursor(CURSOR, z.tuple([z.guid()]), text)?.[0] ?? null;
}

/** Lists requests, newest first. `sinceMs`: the oldest time to include, in milliseconds since 1970. */
export async function listRequestLog(
  database: Queryable,
  reader: RequestLogReader,
  { filter, limit, afterId, sinceMs }: RequestLogListOptions & { sinceMs: number },
): Promise<RequestLogPage> {
  const conditions = filterConditions(reader, filter);
  if (conditions === null || (reader.organizationId === null && filter.requestId === undefined))
    return { items: [], hasNext: false };
  const all = [
    ...conditions,
    sql`log.id >= ${minUuidAt(new Date(sinceMs))}::uuid`,
    ...(afterId === undefined ? [] : [sql`log.id < ${afterId}::uuid`]),
  ];
  const rows = await database.query<RequestLogRow>(sql`
    select page.*, api_key.name as key_name
    from (${newestEntriesSql(all, limit + 1, await daysWithUsage(database, reader, filter))}) page
      left join api_key on api_key.id = page.key_id
    order by page.id desc`);
  return { items: rows.slice(0, limit).map(toEntryView), hasNext: rows.length > limit };
}

/** `days`: search only these days, each with its own index scan; null: any time. */
function newestEntriesSql(conditions: readonly Sql[], limit: number, days: readonly string[] | null): Sql {
  const newest = (extraConditions: readonly Sql[]): Sql => sql`
    select log.id, method, path, status, duration_ms, error_code, key_id, request_body, response_body
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
  { organizationId }: RequestLogReader,
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
    select day::text, key_id, api_key.name as key_name, succeeded::float8, refused::float8, failed::float8, duration_ms
    from request_usage left join api_key on api_key.id = key_id
    where request_usage.organization_id = ${organizationId}::uuid
      and day > ${toUtcDay(nowMs - days * DAY_MS)}::date
    order by day, key_id`);
  return rows.map(({ key_id: keyId, key_name: keyName, duration_ms: durationMs, ...row }) => ({
    ...row,
    keyId: toTypedId("key", keyId),
    keyName,
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

function toEntryView(row: RequestLogRow): RequestLogEntryView {
  return {
    requestId: toTypedId("req", row.id),
    at: timestampOf(row.id),
    method: row.method,
    path: row.path,
    status: row.status,
    durationMs: roundToHundredths(row.duration_ms),
    errorCode: row.error_code,
    keyId: toTypedId("key", row.key_id),
    keyName: row.key_name,
    requestBody: row.request_body,
    responseBody: row.response_body,
  };
}

function roundToHundredths(ms: number): number {
  return Math.round(ms * 100) / 100;
}
