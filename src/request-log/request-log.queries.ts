/** Reading the log and what was counted of it, each read bounded to one organisation: its own. */
import { z } from "zod";
import { decodeCursor, encodeCursor } from "../platform/cursor.ts";
import type { Queryable } from "../platform/postgres/database.ts";
import { timestampOf, minUuidAt, fromTypedId, toTypedId } from "../platform/ids.ts";
import { join, raw, sql, type Sql } from "../platform/postgres/sql.ts";
import { toUtcDay } from "./request-log.partitions.ts";

export const requestLogOutcomes = ["succeeded", "refused", "failed"] as const;
export type RequestLogOutcome = (typeof requestLogOutcomes)[number];

export interface RequestLogFilter {
  /** As an answer carried it. */
  readonly requestId?: string | undefined;
  readonly outcome?: RequestLogOutcome | undefined;
  /** Typed. */
  readonly keyId?: string | undefined;
}

export interface RequestLogListOptions {
  readonly filter: RequestLogFilter;
  readonly limit: number;
  /** Where to go on: after the request with this uuid. */
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

/** A uuid; null: an operator, who finds any request by its id, and no others. */
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

/** A request's place in the list. */
export function requestLogCursor({ requestId }: RequestLogEntryView): string {
  return encodeCursor(CURSOR, [fromTypedId("req", requestId)]);
}

/** The uuid of the request at that place; null where `text` is no cursor of the list. */
export function readRequestLogCursor(text: string): string | null {
  // A ULID is no UUID of any version.
  return decodeCursor(CURSOR, z.tuple([z.guid()]), text)?.[0] ?? null;
}

/** `sinceMs`: how far back the log goes. */
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

/** `days`: only on these, each looked at by itself; null: whenever. */
function newestEntriesSql(conditions: readonly Sql[], limit: number, days: readonly string[] | null): Sql {
  const newest = (more: readonly Sql[]): Sql => sql`
    select log.id, method, path, status, duration_ms, error_code, key_id, request_body, response_body
    from request_log log where ${join([...conditions, ...more], " and ")} order by log.id desc limit ${limit}`;
  if (days === null) return newest([]);
  const starts = days.map((day) => minIdAt(Date.parse(day)));
  const ends = days.map((day) => minIdAt(Date.parse(day) + DAY_MS));
  return sql`
    select log.* from unnest(${starts}::uuid[], ${ends}::uuid[]) day (first_id, end_id)
      cross join lateral (${newest([sql`log.id >= first_id`, sql`log.id < end_id`])}) log
    order by log.id desc limit ${limit}`;
}

/**
 * The days on which a key was used. A key has no index of its own in the log: it would cost each request a third more than
 * the log costs as it is, and what was counted tells where there is nothing to look for.
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

/** The least of a time's ids: a ULID has no version that would stand in it. */
function minIdAt(ms: number): string {
  return `${minUuidAt(new Date(ms)).slice(0, 13)}-0000-0000-000000000000`;
}

/** Oldest day first. `days`: so many, today included. */
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

/** Null: nothing can match. */
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

/** Those of 400 and more have an index of their own: a plan must see that it fits. */
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
