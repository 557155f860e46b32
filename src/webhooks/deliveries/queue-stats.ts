/** The queue seen from outside the dispatcher: which endpoints have something due, and how long it has been waiting. */
import type { Queryable } from "../../platform/postgres/database.ts";
import { raw, sql, type Sql } from "../../platform/postgres/sql.ts";
import { RETRYING, distinctEndpoints, NEVER_ATTEMPTED, canReceive } from "./queue.sql.ts";
import { pendingCountSql } from "../endpoints/view.ts";

const ENDPOINTS_CTE = raw("found");

/** Each endpoint once that has deliveries in `lane`, whoever it is. */
const endpointsWithPending = (lane: Sql): Sql =>
  sql`with recursive ${distinctEndpoints(ENDPOINTS_CTE, lane)} select endpoint_id from ${ENDPOINTS_CTE}`;

/** The endpoints that may be sent to now. */
const OPEN_ENDPOINTS = sql`
  select endpoint.id from webhook_endpoint endpoint join organization on organization.id = endpoint.organization_id
  where ${canReceive}`;

/** Endpoints with retries, probes or expired leases that are due, whoever was to be told of them. */
export async function endpointsWithDueRetries(database: Queryable): Promise<string[]> {
  const rows = await database.query<{ endpoint_id: string }>(sql`
    select endpoint_id from (${endpointsWithPending(RETRYING)}) waiting
    where endpoint_id in (${OPEN_ENDPOINTS}) and exists (
      select from webhook_delivery where ${RETRYING} and endpoint_id = waiting.endpoint_id
        and due_at <= clock_timestamp())
    union
    -- An open circuit whose probe is due, with nothing but deliveries that were never sent.
    select endpoint_id from (${endpointsWithPending(NEVER_ATTEMPTED)}) waiting
    where endpoint_id in (${OPEN_ENDPOINTS}) and endpoint_id in (
      select id from webhook_endpoint where circuit_step is not null)`);
  return rows.map((row) => row.endpoint_id);
}

/** Endpoints that are deleted and have pending deliveries all the same, from events that did not see the deletion yet. */
export async function deletedEndpointsWithPending(database: Queryable): Promise<string[]> {
  const rows = await database.query<{ id: string }>(sql`
    select id from webhook_endpoint
    where deleted_at is not null and id in ((${endpointsWithPending(NEVER_ATTEMPTED)}) union (${endpointsWithPending(RETRYING)}))`);
  return rows.map(({ id }) => id);
}

/** Condition on a pending `webhook_delivery`: no attempt is in flight, and its endpoint is paused, disabled, suspended or gone. */
export const onHoldSql = sql`(lease_token is null or due_at <= clock_timestamp()) and not exists (
  select from webhook_endpoint endpoint join organization on organization.id = endpoint.organization_id
  where endpoint.id = webhook_delivery.endpoint_id and endpoint.status = 'active' and endpoint.deleted_at is null
    and organization.suspended_at is null)`;

export interface QueueStats {
  /** How long the delivery that has been due longest has waited; 0: nothing is due. */
  oldestDueAgeS: number;
  /**
   * Deliveries that wait for their endpoint: it is paused, disabled or suspended. Of each endpoint at most
   * `WAITING_COUNTED` are counted in either lane. NaN: counting them failed, or took too long.
   */
  onHold: number;
}

/** Asked one after the other: whoever watches the lag must see it also where counting takes too long. */
export async function readQueueStats(database: Queryable): Promise<QueueStats> {
  const oldestDueAgeS = await readOldestDueAge(database);
  return { oldestDueAgeS, onHold: await countOnHold(database).catch(() => Number.NaN) };
}

async function readOldestDueAge(database: Queryable): Promise<number> {
  const [row] = await database.query<{ due_lag_s: number }>(sql`
    select
      coalesce(extract(epoch from clock_timestamp() - (
        select min(oldest.due_at) from (
          select (select due_at from webhook_delivery where ${NEVER_ATTEMPTED}
            and endpoint_id = waiting.endpoint_id order by id limit 1) as due_at
          from (${endpointsWithPending(NEVER_ATTEMPTED)}) waiting where endpoint_id in (${OPEN_ENDPOINTS})
          union all
          select (select min(due_at) from webhook_delivery where ${RETRYING}
            and endpoint_id = waiting.endpoint_id)
          from (${endpointsWithPending(RETRYING)}) waiting where endpoint_id in (${OPEN_ENDPOINTS})
        ) oldest where oldest.due_at <= clock_timestamp()
      )), 0)::float8 as due_lag_s`);
  return row?.due_lag_s ?? 0;
}

async function countOnHold(database: Queryable): Promise<number> {
  const [row] = await database.query<{ held: number }>(sql`
    select coalesce(sum(${pendingCountSql}), 0)::float8 as held
    from webhook_endpoint endpoint join organization on organization.id = endpoint.organization_id
    where endpoint.deleted_at is null and (endpoint.status <> 'active' or organization.suspended_at is not null)`);
  return row?.held ?? 0;
}

/** What workers call the connection on which they listen: so they are counted. */
export const WORKER_APPLICATION_NAME = "waymark worker";

/** How many workers there are, this one included. */
export async function countWorkers(database: Queryable): Promise<number> {
  const [row] = await database.query<{ workers: number }>(sql`
    select count(*)::int as workers from pg_stat_activity
    where application_name = ${WORKER_APPLICATION_NAME} and datname = current_database()`);
  return Math.max(1, row?.workers ?? 1);
}
