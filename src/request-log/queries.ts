/** Reading the log and what was counted of it, each read bounded to one organisation: its own. */
import { z } from "zod";
import { decodeCursor, encodeCursor } from "../platform/cursor.ts";
import type { Queryable } from "../platform/database.ts";
import { bornAt, firstUuidOf, fromTypedId, toTypedId } from "../platform/ids.ts";
import { join, raw, sql, type Sql } from "../platform/sql.ts";
import { dayText } from "./days.ts";

export const requestOutcomes = ["succeeded", "refused", "failed"] as const;
export type RequestOutcome = (typeof requestOutcomes)[number];

export interface RequestFilter {
  /** As an answer carried it. */
  readonly requestId?: string | undefined;
  readonly outcome?: RequestOutcome | undefined;
  /** Typed. */
  readonly keyId?: string | undefined;
}

export interface RequestPageRequest {
  readonly filter: RequestFilter;
  readonly limit: number;
  /** Where to go on: after the request with this uuid. */
  readonly afterId?: string | undefined;
}

/** A request as its organisation sees it. Ids are typed, times ISO 8601. */
export interface RequestView {
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

export interface RequestPage {
  /** Newest first. */
  readonly items: RequestView[];
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
export interface RequestReader {
  readonly organizationId: string | null;
}

interface RequestRow {
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
export function requestCursor({ requestId }: RequestView): string {
  return encodeCursor(CURSOR, [fromTypedId("req", requestId)]);
}

/** The uuid of the request at that place; null where `text` is no cursor of the list. */
export function readRequestCursor(text: string): string | null {
  // A ULID is no UUID of any version.
  return decodeCursor(CURSOR, z.tuple([z.guid()]), text)?.[0] ?? null;
}

/** `sinceMs`: how far back the log goes. */
export async function listRequests(
  database: Queryable,
  reader: RequestReader,
  { filter, limit, afterId, sinceMs }: RequestPageRequest & { sinceMs: number },
): Promise<RequestPage> {
  const conditions = conditionsOf(reader, filter);
  if (conditions === null || (reader.organizationId === null && filter.requestId === undefined))
    return { items: [], hasNext: false };
  const all = [
    ...conditions,
    sql`log.id >= ${firstUuidOf(new Date(sinceMs))}::uuid`,
    ...(afterId === undefined ? [] : [sql`log.id < ${afterId}::uuid`]),
  ];
  const rows = await database.query<RequestRow>(sql`
    select page.*, api_key.name as key_name
    from (${newestStatement(all, limit + 1, await daysOf(database, reader, filter))}) page
      left join api_key on api_key.id = page.key_id
    order by page.id desc`);
  return { items: rows.slice(0, limit).map(toView), hasNext: rows.length > limit };
}

/** `days`: only on these, each looked at by itself; null: whenever. */
function newestStatement(conditions: readonly Sql[], limit: number, days: readonly string[] | null): Sql {
  const newest = (more: readonly Sql[]): Sql => sql`
    select log.id, method, path, status, duration_ms, error_code, key_id, request_body, response_body
    from request_log log where ${join([...conditions, ...more], " and ")} order by log.id desc limit ${limit}`;
  if (days === null) return newest([]);
  const starts = days.map((day) => firstIdOf(Date.parse(day)));
  const ends = days.map((day) => firstIdOf(Date.parse(day) + DAY_MS));
  return sql`
    select log.* from unnest(${starts}::uuid[], ${ends}::uuid[]) day (first_id, end_id)
      cross join lateral (${newest([sql`log.id >= first_id`, sql`log.id < end_id`])}) log
    order by log.id desc limit ${limit}`;
}

/**
 * The days on which a key was used. A key has no index of its own in the log: it would cost each request a third more than
 * the log costs as it is, and what was counted tells where there is nothing to look for.
 */
async function daysOf(
  database: Queryable,
  { organizationId }: RequestReader,
  { keyId, requestId }: RequestFilter,
): Promise<string[] | null> {
  if (keyId === undefined || requestId !== undefined || organizationId === null) return null;
  const rows = await database.query<{ day: string }>(sql`
    select day::text from request_usage
    where organization_id = ${organizationId}::uuid and key_id = ${fromTypedId("key", keyId)}::uuid`);
  return rows.map(({ day }) => day);
}

/** The least of a time's ids: a ULID has no version that would stand in it. */
function firstIdOf(ms: number): string {
  return `${firstUuidOf(new Date(ms)).slice(0, 13)}-0000-0000-000000000000`;
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
      and day > ${dayText(nowMs - days * DAY_MS)}::date
    order by day, key_id`);
  return rows.map(({ key_id: keyId, key_name: keyName, duration_ms: durationMs, ...row }) => ({
    ...row,
    keyId: toTypedId("key", keyId),
    keyName,
    meanDurationMs: inHundredths(durationMs / (row.succeeded + row.refused + row.failed)),
  }));
}

/** Null: nothing can match. */
function conditionsOf(
  { organizationId }: RequestReader,
  { requestId, outcome, keyId }: RequestFilter,
): Sql[] | null {
  const request = requestId === undefined ? undefined : fromTypedId("req", requestId);
  const key = keyId === undefined ? undefined : fromTypedId("key", keyId);
  if (request === null || key === null) return null;
  return [
    ...(organizationId === null ? [] : [sql`log.organization_id = ${organizationId}::uuid`]),
    ...(request === undefined ? [] : [sql`log.id = ${request}::uuid`]),
    ...(key === undefined ? [] : [sql`key_id = ${key}::uuid`]),
    ...(outcome === undefined ? [] : [statuses[outcome]]),
  ];
}

/** Those of 400 and more have an index of their own: a plan must see that it fits. */
const statuses: Readonly<Record<RequestOutcome, Sql>> = {
  succeeded: raw("status < 400"),
  refused: raw("status >= 400 and status < 500"),
  failed: raw("status >= 400 and status >= 500"),
};

function toView(row: RequestRow): RequestView {
  return {
    requestId: toTypedId("req", row.id),
    at: bornAt(row.id),
    method: row.method,
    path: row.path,
    status: row.status,
    durationMs: inHundredths(row.duration_ms),
    errorCode: row.error_code,
    keyId: toTypedId("key", row.key_id),
    keyName: row.key_name,
    requestBody: row.request_body,
    responseBody: row.response_body,
  };
}

function inHundredths(ms: number): number {
  return Math.round(ms * 100) / 100;
}
