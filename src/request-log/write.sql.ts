/** Writes a batch of request log entries in one statement. */
import type { Queryable } from "../core/postgres/database.ts";
import { timestampOf, fromTypedId } from "../core/ids.ts";
import { sql } from "../core/postgres/sql.ts";

/** A finished request, with redacted bodies. */
export interface RequestLogEntry {
  /** `req_…`. */
  readonly requestId: string;
  /** A uuid. */
  readonly organizationId: string;
  /** A uuid. */
  readonly keyId: string;
  readonly method: string;
  /** Without the query string. */
  readonly path: string;
  readonly status: number;
  readonly durationMs: number;
  readonly errorCode: string | null;
  readonly requestBody: string | null;
  readonly responseBody: string | null;
  /** The simulated failure, as the client asked for it; null if none. */
  readonly simulated: string | null;
  /** The unknown parameters of a read, without commas. */
  readonly ignoredParameters: readonly string[];
  /** False for a request that is only counted. */
  readonly isLogged: boolean;
}

/** Inserts the entries and counts them by organisation, key and day. Entries already inserted are not counted again; those that are
 * only counted may be. */
export async function insertRequestLogEntries(
  database: Queryable,
  requests: readonly RequestLogEntry[],
): Promise<void> {
  const ids = requests.map(({ requestId }) => fromTypedId("req", requestId) as string);
  const column = (name: keyof RequestLogEntry) => requests.map((request) => request[name]);
  // PostgreSQL has no lists of lists of different lengths.
  const ignoredParameters = requests.map((request) => request.ignoredParameters.join(",") || null);
  // Without synchronous commit: a crash of PostgreSQL may lose the last entries.
  await database.query(sql`
    with async_commit as materialized (
      select set_config('synchronous_commit', 'off', true)
    ), input as materialized (
      select input.* from async_commit, unnest(${ids}::uuid[], ${ids.map((id) => timestampOf(id).slice(0, 10))}::date[],
        ${column("organizationId")}::uuid[], ${column("keyId")}::uuid[], ${column("method")}::text[],
        ${column("path")}::text[], ${column("status")}::smallint[], ${column("durationMs")}::real[],
        ${column("errorCode")}::text[], ${column("requestBody")}::text[], ${column("responseBody")}::text[],
        ${column("simulated")}::text[], ${ignoredParameters}::text[], ${column("isLogged")}::boolean[]
      ) input (id, day, organization_id, key_id, method, path, status, duration_ms, error_code, request_body, response_body,
        simulated, ignored_parameters, is_logged)
    ), written as (
      insert into request_log (id, organization_id, key_id, method, path, status, duration_ms, error_code, request_body,
        response_body, simulated, ignored_parameters)
      select id, organization_id, key_id, method, path, status, duration_ms, error_code, request_body, response_body,
        simulated, string_to_array(ignored_parameters, ',')
      from input where is_logged
      -- The statement is retried if its result was lost.
      on conflict do nothing
      returning id
    )
    insert into request_usage as usage (organization_id, day, key_id, succeeded, refused, limited, failed, duration_ms)
    select organization_id, day, key_id, count(*) filter (where status < 400),
      count(*) filter (where status between 400 and 499), count(*) filter (where status = 429),
      count(*) filter (where status >= 500), sum(duration_ms)
    from input left join written using (id)
    where written.id is not null or not is_logged
    group by organization_id, day, key_id
    -- A fixed order, so that concurrent processes wait for each other instead of deadlocking.
    order by organization_id, day, key_id
    on conflict (organization_id, day, key_id) do update set
      succeeded = usage.succeeded + excluded.succeeded, refused = usage.refused + excluded.refused,
      limited = usage.limited + excluded.limited, failed = usage.failed + excluded.failed,
      duration_ms = usage.duration_ms + excluded.duration_ms`);
}

/** Requests per transaction. */
const DELETE_BATCH_SIZE = 5_000;

/**
 * Deletes the log and the usage of `organizationIds` (UUIDs), in batches. Returns the number of requests. For test
 * organisations. Processes log requests up to about a second after they finish: flush this one's recorder first. What another
 * process has not written yet is logged later.
 */
export async function deleteRequestsOf(
  database: Queryable,
  organizationIds: readonly string[],
): Promise<number> {
  let total = 0;
  for (const id of organizationIds)
    for (let deleted = DELETE_BATCH_SIZE; deleted === DELETE_BATCH_SIZE; total += deleted) {
      const rows = await database.query(sql`
        delete from request_log where organization_id = ${id}::uuid and id = any(array(
          select id from request_log where organization_id = ${id}::uuid order by id limit ${DELETE_BATCH_SIZE}))
        returning 1`);
      deleted = rows.length;
    }
  await database.query(sql`
    delete from request_usage where organization_id = any(${[...organizationIds]}::uuid[])`);
  return total;
}
