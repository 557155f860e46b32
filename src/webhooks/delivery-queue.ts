/** The queue seen from outside the dispatcher: which endpoints have something due, and how long it has been waiting. */
import type { Queryable } from "../platform/database.ts";
import { raw, sql, type Sql } from "../platform/sql.ts";
import { AGAIN, endpointsIn, FIRST, isOpen } from "./delivery.lanes.ts";
import { waitingCount } from "./endpoint.view.ts";

const FOUND = raw("found");

/** Each endpoint once that has deliveries in `lane`, whoever it is. */
const waitingIn = (lane: Sql): Sql =>
  sql`with recursive ${endpointsIn(FOUND, lane)} select endpoint_id from ${FOUND}`;

/** The endpoints that may be sent to now. */
const OPEN = sql`
  select endpoint.id from webhook_endpoint endpoint join organization on organization.id = endpoint.organization_id
  where ${isOpen}`;

/** Endpoints with retries, probes or expired leases that are due, whoever was to be told of them. */
export async function endpointsDueAgain(database: Queryable): Promise<string[]> {
  const rows = await database.query<{ endpoint_id: string }>(sql`
    select endpoint_id from (${waitingIn(AGAIN)}) waiting
    where endpoint_id in (${OPEN}) and exists (
      select from webhook_delivery where ${AGAIN} and endpoint_id = waiting.endpoint_id
        and due_at <= clock_timestamp())
    union
    -- An open circuit whose probe is due, with nothing but deliveries that were never sent.
    select endpoint_id from (${waitingIn(FIRST)}) waiting
    where endpoint_id in (${OPEN}) and endpoint_id in (
      select id from webhook_endpoint where circuit_step is not null)`);
  return rows.map((row) => row.endpoint_id);
}

/** Endpoints that are deleted and have pending deliveries all the same, from events that did not see the deletion yet. */
export async function deletedWithPending(database: Queryable): Promise<string[]> {
  const rows = await database.query<{ id: string }>(sql`
    select id from webhook_endpoint
    where deleted_at is not null and id in ((${waitingIn(FIRST)}) union (${waitingIn(AGAIN)}))`);
  return rows.map(({ id }) => id);
}

/** Condition on a pending `webhook_delivery`: no attempt is in flight, and its endpoint is paused, disabled, suspended or gone. */
export const onHold = sql`(lease_token is null or due_at <= clock_timestamp()) and not exists (
  select from webhook_endpoint endpoint join organization on organization.id = endpoint.organization_id
  where endpoint.id = webhook_delivery.endpoint_id and endpoint.status = 'active' and endpoint.deleted_at is null
    and organization.suspended_at is null)`;

export interface QueueState {
  /** How long the delivery that has been due longest has waited; 0: nothing is due. */
  dueLagS: number;
  /**
   * Deliveries that wait for their endpoint: it is paused, disabled or suspended. Of each endpoint at most
   * `WAITING_COUNTED` are counted in either lane. NaN: counting them failed, or took too long.
   */
  held: number;
}

/** Asked one after the other: whoever watches the lag must see it also where counting takes too long. */
export async function queueState(database: Queryable): Promise<QueueState> {
  const dueLagS = await longestDueS(database);
  return { dueLagS, held: await countHeld(database).catch(() => Number.NaN) };
}

async function longestDueS(database: Queryable): Promise<number> {
  const [row] = await database.query<{ due_lag_s: number }>(sql`
    select
      coalesce(extract(epoch from clock_timestamp() - (
        select min(oldest.due_at) from (
          select (select due_at from webhook_delivery where ${FIRST}
            and endpoint_id = waiting.endpoint_id order by id limit 1) as due_at
          from (${waitingIn(FIRST)}) waiting where endpoint_id in (${OPEN})
          union all
          select (select min(due_at) from webhook_delivery where ${AGAIN}
            and endpoint_id = waiting.endpoint_id)
          from (${waitingIn(AGAIN)}) waiting where endpoint_id in (${OPEN})
        ) oldest where oldest.due_at <= clock_timestamp()
      )), 0)::float8 as due_lag_s`);
  return row?.due_lag_s ?? 0;
}

async function countHeld(database: Queryable): Promise<number> {
  const [row] = await database.query<{ held: number }>(sql`
    select coalesce(sum(${waitingCount}), 0)::float8 as held
    from webhook_endpoint endpoint join organization on organization.id = endpoint.organization_id
    where endpoint.deleted_at is null and (endpoint.status <> 'active' or organization.suspended_at is not null)`);
  return row?.held ?? 0;
}

/** What workers call the connection on which they listen: so they are counted. */
export const WORKER_CONNECTION = "waymark worker";

/** How many workers there are, this one included. */
export async function countWorkers(database: Queryable): Promise<number> {
  const [row] = await database.query<{ workers: number }>(sql`
    select count(*)::int as workers from pg_stat_activity
    where application_name = ${WORKER_CONNECTION} and datname = current_database()`);
  return Math.max(1, row?.workers ?? 1);
}
