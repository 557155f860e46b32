/**
 * The claim: one statement that records finished deliveries and leases due ones. Workers exclude each other by SKIP LOCKED
 * when they lease, and by the lease token when they finish.
 */
import type { EventRow } from "../../events/api.ts";
import type { Queryable } from "../../core/postgres/database.ts";
import { newUuid } from "../../core/ids.ts";
import { raw, sql, type Sql } from "../../core/postgres/sql.ts";
import {
  RETRYING,
  nextEndpoint,
  NEVER_ATTEMPTED,
  forEndpoint,
  canReceive,
} from "../deliveries/queue-lanes.sql.ts";
import { INITIAL_WINDOW } from "./endpoint-states.ts";
import type { FinishedDelivery, Lease } from "./lease.ts";

export interface ClaimRequest {
  finished: readonly FinishedDelivery[];
  /** The maximum number of deliveries to lease. */
  freeSlots: number;
  /** How many of them may be first attempts. */
  maxFirstAttempts: number;
  /** Endpoints (UUIDs) whose retries, probes or expired leases may be due. */
  retryEndpoints: readonly string[];
  /** Scan for never-attempted deliveries after this endpoint; null starts at the first. */
  cursor: string | null;
  /** Deliveries that these endpoints may receive now; others are limited by their settings only. */
  sendBudgets: ReadonlyMap<string, number>;
  /** Deliveries that these partners (UUIDs) may receive now; others may receive `maxPerPartner`. */
  partnerBudgets: ReadonlyMap<string, number>;
  maxPerPartner: number;
  /** Number of workers that share the limits of each endpoint. */
  workerCount: number;
}

export interface ClaimResult {
  leases: Lease[];
  /** The cursor for the next claim; null if every endpoint was scanned. */
  cursor: string | null;
  /** True if the share of a partner was too small for all its endpoints. */
  hasOmittedEndpoints: boolean;
}

/** Longer than the longest attempt, so a worker with an expired lease is dead or stuck. */
const LEASE_MS = 30_000;
/** Endpoints scanned per claim, to bound its duration. */
const MAX_ENDPOINTS_SCANNED = 100;
const NIL_UUID = "00000000-0000-0000-0000-000000000000";

type ClaimRow = {
  scanned_count: number;
  last_scanned: string | null;
  has_omitted: boolean;
  finished_count: number;
} & (
  | { id: null }
  | ({
      id: string;
      endpoint_id: string;
      event_id: string;
      attempts: number;
      is_reclaimed: boolean;
      after_restore: boolean;
      version: number;
      circuit_step: number | null;
      is_failing: boolean;
      send_budget: number;
      found_event_id: string | null;
      trace_parent: string | null;
    } & Omit<EventRow, "id">)
);

export async function claimDue(database: Queryable, request: ClaimRequest): Promise<ClaimResult> {
  if (request.freeSlots === 0) {
    await recordFinished(database, request.finished);
    return { leases: [], cursor: request.cursor, hasOmittedEndpoints: false };
  }
  const token = newUuid();
  const rows = await database.query<ClaimRow>(claimSql(request, token));
  await deleteIfOrphaned(database, request.finished, rows[0]);
  const leases = rows.flatMap((row) => (row.id === null ? [] : [toLease(row, token)]));
  return {
    leases,
    cursor: nextCursor(request, rows[0], leases),
    hasOmittedEndpoints: rows[0]?.has_omitted === true,
  };
}

/** Continues after the last endpoint that was scanned or served, so that all endpoints get their turn. */
function nextCursor(
  request: ClaimRequest,
  row: ClaimRow | undefined,
  leases: readonly Lease[],
): string | null {
  const served = leases.filter(({ attempt }) => attempt === 1).map(({ endpointId }) => endpointId);
  // The text of UUIDs sorts like PostgreSQL's uuid type.
  if (served.length >= request.maxFirstAttempts) return served.toSorted().at(-1) ?? request.cursor;
  return row && row.scanned_count === MAX_ENDPOINTS_SCANNED ? row.last_scanned : null;
}

/** Records finished deliveries without leasing new ones. */
export async function recordFinished(
  database: Queryable,
  finished: readonly FinishedDelivery[],
): Promise<void> {
  if (finished.length === 0) return;
  const [row] = await database.query<Pick<ClaimRow, "finished_count">>(sql`
    with ${recordFinishedSql(finished)} select count(*)::int as finished_count from finished`);
  await deleteIfOrphaned(database, finished, row);
}

/**
 * A result that changed no delivery lost its lease to another worker, or its delivery was deleted with the test data. In the
 * second case, deletes the attempt. A check before each insert would cost the claim more.
 */
async function deleteIfOrphaned(
  database: Queryable,
  finished: readonly FinishedDelivery[],
  row: Pick<ClaimRow, "finished_count"> | undefined,
): Promise<void> {
  if (!row || row.finished_count === finished.length) return;
  await database.query(sql`
    delete from webhook_attempt where delivery_id = any(${finished.map(({ id }) => id)}::uuid[])
      and (select count(*) from webhook_delivery delivery where delivery.id = delivery_id) = 0`);
}

function toLease(row: Exclude<ClaimRow, { id: null }>, token: string): Lease {
  return {
    id: row.id,
    token,
    endpointId: row.endpoint_id,
    eventId: row.event_id,
    attempt: row.attempts,
    isAfterRestore: row.after_restore,
    isReclaimed: row.is_reclaimed,
    event: row.found_event_id === null ? null : { ...row, id: row.event_id },
    traceParent: row.trace_parent,
    endpoint: {
      version: row.version,
      circuitStep: row.circuit_step,
      isFailing: row.is_failing,
      sendBudget: row.send_budget,
    },
  };
}

/** CTEs `recorded_attempts` and `finished`. A lease that another worker took over keeps its row; the attempt is recorded. */
function recordFinishedSql(finished: readonly FinishedDelivery[]): Sql {
  const ids = finished.map(({ id }) => id);
  const attempts = finished.flatMap(({ attempt }) => (attempt ? [attempt] : []));
  return sql`recorded_attempts as (
      insert into webhook_attempt (id, delivery_id, number, started_at, duration_ms, outcome, http_status, error,
        request_headers, response_headers, response_body)
      select id, delivery_id, number, to_timestamp(started_at_ms / 1000), duration_ms, outcome, http_status, error,
        request_headers, response_headers, response_body
      from unnest(${attempts.map(({ id }) => id)}::uuid[], ${attempts.map(({ deliveryId }) => deliveryId)}::uuid[],
        ${attempts.map(({ number }) => number)}::int[], ${attempts.map(({ startedAtMs }) => startedAtMs)}::float8[],
        ${attempts.map(({ durationMs }) => Math.round(durationMs))}::int[],
        ${attempts.map(({ outcome }) => outcome.class)}::text[], ${attempts.map(({ outcome }) => outcome.status)}::int[],
        ${attempts.map(({ outcome }) => outcome.message)}::text[],
        ${attempts.map(({ requestHeaders }) => JSON.stringify(requestHeaders))}::json[],
        ${attempts.map(({ responseHeaders }) => responseHeaders && JSON.stringify(responseHeaders))}::json[],
        ${attempts.map(({ responseBody }) => responseBody)}::text[]
      ) attempt (id, delivery_id, number, started_at_ms, duration_ms, outcome, http_status, error, request_headers,
        response_headers, response_body)
      -- The statement is repeated if its result was lost.
      on conflict do nothing
    ), finished as (
      update webhook_delivery set status = result.status, due_at = clock_timestamp() + result.delay_ms * interval '1 ms',
        lease_token = null, outcome = result.outcome,
        finished_at = case when result.status <> 'pending' then clock_timestamp() end
      from unnest(${ids}::uuid[], ${finished.map(({ token }) => token)}::uuid[],
        ${finished.map(({ status }) => status)}::text[], ${finished.map(({ delayMs }) => delayMs)}::float8[],
        ${finished.map(({ outcome }) => outcome)}::text[]) result (id, token, status, delay_ms, outcome)
      -- The redundant array condition keeps every plan from scanning the whole queue for the join.
      where webhook_delivery.status = 'pending' and webhook_delivery.id = any(${ids}::uuid[])
        and webhook_delivery.id = result.id
        and webhook_delivery.lease_token = result.token
      returning 1
    )`;
}

const leaseEndSql = sql`clock_timestamp() + ${LEASE_MS} * interval '1 ms'`;

const NEXT_PENDING = nextEndpoint(raw("pending"), NEVER_ATTEMPTED);
const OF_ENDPOINT = forEndpoint(raw("endpoint.id"));
const OF_ELIGIBLE = forEndpoint(raw("eligible.id"));

/** CTEs that end with `eligible`: the endpoints to send to, each with its budget. */
function eligibleEndpointsSql(request: ClaimRequest): Sql {
  const { retryEndpoints, cursor, sendBudgets, partnerBudgets, maxPerPartner, workerCount } = request;
  return sql`pending (endpoint_id) as (
      (select endpoint_id from webhook_delivery
        where ${NEVER_ATTEMPTED} and endpoint_id > ${cursor ?? NIL_UUID}::uuid order by endpoint_id limit 1)
      union all ${NEXT_PENDING}
    ), scanned as materialized (
      select endpoint_id from pending limit ${MAX_ENDPOINTS_SCANNED}
    ), requested as materialized (
      select endpoint.id, endpoint.version, endpoint.circuit_step, endpoint.failing_since is not null as is_failing,
        coalesce(organization.live_organization_id, organization.id) as partner_id,
        organization.live_organization_id is not null as is_test,
        case when endpoint.circuit_step is not null then 1
          else coalesce(budget.send_budget, greatest(1, least(${INITIAL_WINDOW}, endpoint.max_in_flight, endpoint.per_second) / ${workerCount}::int))
        end as send_budget
      from (select endpoint_id from scanned union select unnest(${retryEndpoints}::uuid[])) wanted
        join webhook_endpoint endpoint on endpoint.id = wanted.endpoint_id
        join organization on organization.id = endpoint.organization_id
        left join unnest(${[...sendBudgets.keys()]}::uuid[], ${[...sendBudgets.values()]}::int[]) budget (id, send_budget)
          on budget.id = endpoint.id
      where ${canReceive} and coalesce(budget.send_budget, 1) > 0
    ), candidates as materialized (
      -- The endpoints of a partner divide its budget in random order, live ones first.
      select id, version, circuit_step, is_failing, is_test, least(send_budget, available)::int as send_budget from (
        select requested.*, coalesce(partner.budget, ${maxPerPartner}::int) - coalesce(sum(send_budget) over (
          partition by partner_id order by is_test, random() rows between unbounded preceding and 1 preceding), 0) as available
        from requested left join unnest(${[...partnerBudgets.keys()]}::uuid[], ${[...partnerBudgets.values()]}::int[])
          partner (id, budget) on partner.id = partner_id
      ) shared where available > 0
    ), probed as (
      -- An open circuit lets one delivery through: the first worker to lock the endpoint sends it. Locks are in id order.
      update webhook_endpoint set blocked_until = ${leaseEndSql} where id in (
        select endpoint.id from webhook_endpoint endpoint join candidates using (id)
        where candidates.circuit_step is not null and endpoint.blocked_until <= clock_timestamp() and (
          exists (select from webhook_delivery
            where ${NEVER_ATTEMPTED} and ${OF_ENDPOINT})
          or exists (select from webhook_delivery
            where ${RETRYING} and ${OF_ENDPOINT} and due_at <= clock_timestamp()))
        order by endpoint.id for update of endpoint skip locked)
      returning id
    ), eligible as materialized (
      select * from candidates where circuit_step is null or id in (select id from probed)
    )`;
}

function claimSql(request: ClaimRequest, token: string): Sql {
  const { finished, freeSlots, maxFirstAttempts, retryEndpoints } = request;
  return sql`
    with recursive ${finished.length > 0 ? sql`${recordFinishedSql(finished)},` : sql``}
    ${eligibleEndpointsSql(request)}, first_attempts as materialized (
      select eligible.id as endpoint_id, due.id, false as is_reclaimed
      from (select * from eligible order by is_test, id) eligible cross join lateral (
        select id from webhook_delivery
        where ${NEVER_ATTEMPTED} and ${OF_ELIGIBLE}
        order by endpoint_id, id limit eligible.send_budget for update skip locked) due
      limit ${maxFirstAttempts}
    ), retries as (
      select eligible.id as endpoint_id, due.id, due.is_reclaimed
      from (select * from eligible order by is_test) eligible cross join lateral (
        select id, lease_token is not null as is_reclaimed from webhook_delivery
        where ${RETRYING} and ${OF_ELIGIBLE} and due_at <= clock_timestamp()
          and id <> all(${finished.map(({ id }) => id)}::uuid[])
        order by endpoint_id, due_at
        limit eligible.send_budget - (select count(*) from first_attempts where first_attempts.endpoint_id = eligible.id)
        for update skip locked) due
      where eligible.id = any(${retryEndpoints}::uuid[])
      limit ${freeSlots} - (select count(*) from first_attempts)
    ), due as materialized (
      select id, is_reclaimed from first_attempts union all select id, is_reclaimed from retries
    ), leased as (
      -- Not a join with \`due\`: planned while the queue was short, it would read the whole queue for each lease.
      update webhook_delivery set attempts = attempts + 1, due_at = ${leaseEndSql}, lease_token = ${token}::uuid
      where status = 'pending' and id = any(array(select id from due))
      returning id, endpoint_id, event_id, attempts, after_restore
    )
    select (select count(*)::int from scanned) as scanned_count,
      (select endpoint_id from scanned order by endpoint_id desc limit 1) as last_scanned,
      (select count(*) from requested) > (select count(*) from candidates) as has_omitted,
      ${finished.length > 0 ? sql`(select count(*)::int from finished)` : sql`0`} as finished_count,
      leased.*, due.is_reclaimed, eligible.version, eligible.circuit_step, eligible.is_failing, eligible.send_budget,
      event.id as found_event_id, event.type, event.sequence, event.actor_type, event.actor_id, event.request_id,
      event.trace_parent, event.occurred_at, event.changes, event.job
    from (values (1)) one_row
      left join leased on true
      left join due on due.id = leased.id
      left join eligible on eligible.id = leased.endpoint_id
      -- A lateral join, because a plain join of a few hundred leases scanned the whole index of events.
      left join lateral (select * from job_event where job_event.id = leased.event_id limit 1) event on true`;
}
