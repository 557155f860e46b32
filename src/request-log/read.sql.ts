/** Reads the request log and usage counters of one organisation. */
import { z } from "zod";
import { decodeCursor, encodeCursor, type ListCursor } from "../core/cursor.ts";
import type { Queryable } from "../core/postgres/database.ts";
import { fromTypedId, toTypedId } from "../core/ids.ts";
import type { Page, PageRequest } from "../core/postgres/list-page.ts";
import { join, raw, sql, type Sql } from "../core/postgres/sql.ts";
import {
  type RequestLogEntryView,
  type RequestLogRow,
  type requestOutcomes,
  toEntryView,
  toViewWithoutJobs,
} from "./view.ts";

export interface RequestLogFilter {
  /** The `request_id` of the response. */
  readonly requestId?: string | undefined;
  readonly outcome?: (typeof requestOutcomes)[number] | undefined;
  /** Typed. */
  readonly keyId?: string | undefined;
}

export interface RequestLogListOptions extends PageRequest {
  readonly filter: RequestLogFilter;
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

const CURSOR = "requests";

export const requestLogCursor: ListCursor<RequestLogEntryView> = {
  encode: ({ requestId }) => encodeCursor(CURSOR, [fromTypedId("req", requestId)]),
  // Request ids of earlier releases are ULIDs stored as uuids, which have no UUID version.
  decode: (text) => decodeCursor(CURSOR, z.tuple([z.guid()]), text)?.[0] ?? null,
};

/** Lists requests, newest first. */
export async function listRequestLog(
  database: Queryable,
  reader: RequestLogReader,
  { filter, limit, after }: RequestLogListOptions,
): Promise<Page<RequestLogEntryView>> {
  const { keyId, requestId } = filter;
  const conditions = filterConditions(reader, filter);
  if (after !== null) conditions.push(sql`log.id < ${after}::uuid`);
  const page =
    keyId === undefined || requestId !== undefined
      ? newestSql(conditions, limit + 1)
      : newestOfKeySql(conditions, limit + 1, [reader.organizationId, fromTypedId("key", keyId)]);
  const rows = await database.query<RequestLogRow>(sql`
    select page.*, api_key.name as "keyName"
    from (${page}) page left join api_key on api_key.id = page."keyId"
    order by page.id desc`);
  const toView = reader.scopes.includes("jobs:read") ? toEntryView : toViewWithoutJobs;
  return { items: rows.slice(0, limit).map(toView), hasMore: rows.length > limit };
}

function newestSql(conditions: readonly Sql[], limit: number): Sql {
  return sql`
    select log.id, method, path, status, duration_ms as "durationMs", error_code as "errorCode", key_id as "keyId",
      request_body as "requestBody", response_body as "responseBody", simulated,
      coalesce(ignored_parameters, '{}') as "ignoredParameters"
    from request_log log where ${join(conditions, " and ")} order by log.id desc limit ${limit}`;
}

/**
 * Searches the days on which the key was used, each with its own index scan. The log has no index by key, which would make
 * writing a third slower.
 */
function newestOfKeySql(
  conditions: readonly Sql[],
  limit: number,
  [organizationId, keyId]: readonly (string | null)[],
): Sql {
  const ofDay = raw(`log.id >= ${firstIdSql("usage.day")} and log.id < ${firstIdSql("usage.day + 1")}`);
  return sql`
    select log.* from request_usage usage cross join lateral (${newestSql([...conditions, ofDay], limit)}) log
    where usage.organization_id = ${organizationId}::uuid and usage.key_id = ${keyId}::uuid
    order by log.id desc limit ${limit}`;
}

/** The lowest request id of a date. */
function firstIdSql(date: string): string {
  return `rpad(lpad(to_hex(extract(epoch from ${date})::bigint * 1000), 12, '0'), 32, '0')::uuid`;
}

/** Returns usage by day and key, oldest day first. `days`: the number of days, including today. */
export async function listUsage(
  database: Queryable,
  organizationId: string,
  days: number,
): Promise<UsageView[]> {
  const rows = await database.query<UsageView>(sql`
    select day::text, key_id as "keyId", api_key.name as "keyName", succeeded::float8, refused::float8, failed::float8,
      round((duration_ms / (succeeded + refused + failed))::numeric, 2)::float8 as "meanDurationMs"
    from request_usage left join api_key on api_key.id = key_id
    where request_usage.organization_id = ${organizationId}::uuid and day > current_date - ${days}::int
    order by day, key_id`);
  return rows.map((row) => ({ ...row, keyId: toTypedId("key", row.keyId) }));
}

/** A malformed id becomes null, which matches nothing. */
function filterConditions(
  { organizationId }: RequestLogReader,
  { requestId, outcome, keyId }: RequestLogFilter,
): Sql[] {
  return [
    ...(organizationId === null ? [] : [sql`log.organization_id = ${organizationId}::uuid`]),
    ...(requestId === undefined ? [] : [sql`log.id = ${fromTypedId("req", requestId)}::uuid`]),
    ...(keyId === undefined ? [] : [sql`key_id = ${fromTypedId("key", keyId)}::uuid`]),
    ...(outcome === undefined ? [] : [outcomeConditions[outcome]]),
  ];
}

/** `status >= 400` in both conditions lets the planner use the partial index of failed requests. */
const outcomeConditions: Readonly<Record<(typeof requestOutcomes)[number], Sql>> = {
  succeeded: raw("status < 400"),
  refused: raw("status >= 400 and status < 500"),
  failed: raw("status >= 400 and status >= 500"),
};
