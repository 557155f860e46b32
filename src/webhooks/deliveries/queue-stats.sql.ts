/** Monitoring of the delivery queue: endpoints with due deliveries, the queue's age, and deliveries on hold. */
import type { Queryable } from "../../core/postgres/database.ts";
import { join, raw, sql, type Sql } from "../../core/postgres/sql.ts";
import { RETRYING, distinctEndpoints, NEVER_ATTEMPTED, canReceive } from "./queue-lanes.sql.ts";
import { PENDING_COUNT_LIMIT } from "../endpoints/view.ts";

const ENDPOINTS_CTE = raw("endpoints");

/** The ids of all endpoints with deliveries in `lane`, each once. */
const endpointsWithPending = (lane: Sql): Sql =>
  sql`with recursive ${distinctEndpoints(ENDPOINTS_CTE, lane)} select endpoint_id from ${ENDPOINTS_CTE}`;

/** The endpoints that can receive deliveries now. */
const OPEN_ENDPOINTS = sql`
  select endpoint.id from webhook_endpoint endpoint join organization on organization.id = endpoint.organization_id
  where ${canReceive}`;

/**
 * The ids (UUIDs) of endpoints with due retries, probes or expired leases, in case a scheduled wake-up was lost. Null if there are
 * none, and no delivery waits for its first attempt either.
 */
export async function endpointsWithDueRetries(database: Queryable): Promise<string[] | null> {
  const rows = await database.query<{ endpoint_id: string | null }>(sql`
    select endpoint_id from (${endpointsWithPending(RETRYING)}) pending
    where endpoint_id in (${OPEN_ENDPOINTS}) and exists (
      select from webhook_delivery where ${RETRYING} and endpoint_id = pending.endpoint_id
        and due_at <= clock_timestamp())
    union
    -- Open circuits with a due probe and only deliveries that were never attempted.
    select endpoint_id from (${endpointsWithPending(NEVER_ATTEMPTED)}) pending
    where endpoint_id in (${OPEN_ENDPOINTS}) and endpoint_id in (
      select id from webhook_endpoint where circuit_step is not null)
    union all select null where exists (select from webhook_delivery where ${NEVER_ATTEMPTED})`);
  return rows.length === 0 ? null : rows.flatMap((row) => row.endpoint_id ?? []);
}

/** SQL condition on a pending `webhook_delivery`: not in flight, and its endpoint is paused, disabled, suspended or deleted. */
export const onHoldSql = sql`(lease_token is null or due_at <= clock_timestamp()) and not exists (
  select from webhook_endpoint endpoint join organization on organization.id = endpoint.organization_id
  where endpoint.id = webhook_delivery.endpoint_id and endpoint.status = 'active' and endpoint.deleted_at is null
    and organization.suspended_at is null)`;

/** The number of pending deliveries of `endpoint`, at most PENDING_COUNT_LIMIT per lane. */
const pendingCountSql = join(
  [NEVER_ATTEMPTED, RETRYING].map(
    (lane) => sql`(select count(*) from (select from webhook_delivery
      where webhook_delivery.endpoint_id = endpoint.id and ${lane} limit ${raw(String(PENDING_COUNT_LIMIT))}) lane)`,
  ),
  " + ",
);

/** The numbers of pending deliveries by endpoint id (UUID), each at most `PENDING_COUNT_LIMIT`. */
export async function countPending(
  database: Queryable,
  endpointIds: readonly string[],
): Promise<Map<string, number>> {
  const rows = await database.query<{ id: string; pending: number }>(sql`
    select id, least(${pendingCountSql}, ${raw(String(PENDING_COUNT_LIMIT))})::int as pending
    from unnest(${endpointIds}::uuid[]) endpoint (id)`);
  return new Map(rows.map(({ id, pending }) => [id, pending]));
}

/** Without test endpoints, so that a partner's tests of failures raise no alert. */
const IS_LIVE = raw("organization.live_organization_id is null");
const OPEN_LIVE_ENDPOINTS = sql`${OPEN_ENDPOINTS} and ${IS_LIVE}`;

/** Of live organisations. */
export interface QueueStats {
  /** Seconds for which the oldest due delivery has been due; 0 if none is. */
  oldestDueAgeS: number;
  /**
   * Deliveries of paused, disabled or suspended endpoints. At most `PENDING_COUNT_LIMIT` are counted per endpoint and lane.
   * NaN if the count failed or timed out.
   */
  onHold: number;
}

/** Two statements, so that the age is reported even if the count takes too long. */
export async function readQueueStats(database: Queryable): Promise<QueueStats> {
  const oldestDueAgeS = await readOldestDueAge(database);
  return { oldestDueAgeS, onHold: await countOnHold(database).catch(() => Number.NaN) };
}

async function readOldestDueAge(database: Queryable): Promise<number> {
  const [row] = await database.query<{ oldest_due_age_s: number }>(sql`
    select
      coalesce(extract(epoch from clock_timestamp() - (
        select min(oldest.due_at) from (
          select (select due_at from webhook_delivery where ${NEVER_ATTEMPTED}
            and endpoint_id = pending.endpoint_id order by id limit 1) as due_at
          from (${endpointsWithPending(NEVER_ATTEMPTED)}) pending where endpoint_id in (${OPEN_LIVE_ENDPOINTS})
          union all
          select (select min(due_at) from webhook_delivery where ${RETRYING}
            and endpoint_id = pending.endpoint_id)
          from (${endpointsWithPending(RETRYING)}) pending where endpoint_id in (${OPEN_LIVE_ENDPOINTS})
        ) oldest where oldest.due_at <= clock_timestamp()
      )), 0)::float8 as oldest_due_age_s`);
  return row?.oldest_due_age_s ?? 0;
}

async function countOnHold(database: Queryable): Promise<number> {
  const [row] = await database.query<{ on_hold: number }>(sql`
    select coalesce(sum(${pendingCountSql}), 0)::float8 as on_hold
    from webhook_endpoint endpoint join organization on organization.id = endpoint.organization_id
    where ${IS_LIVE} and endpoint.deleted_at is null and (endpoint.status <> 'active' or organization.suspended_at is not null)`);
  return row?.on_hold ?? 0;
}

/** The application name of the workers' LISTEN connections, by which workers are counted. */
export const WORKER_APPLICATION_NAME = "waymark worker";

/** The number of running workers. */
export async function countWorkers(database: Queryable): Promise<number> {
  const [row] = await database.query<{ workers: number }>(sql`
    select count(*)::int as workers from pg_stat_activity
    where application_name = ${WORKER_APPLICATION_NAME} and datname = current_database()`);
  return row?.workers ?? 0;
}
