/**
 * One turn of the dispatcher: a single statement that records what has ended and leases what is due. Exclusivity comes from
 * it alone: rows are claimed with SKIP LOCKED, and whoever ends one must hold the token that its claim gave.
 */
import type { EventRow } from "../../events/api.ts";
import type { Queryable } from "../../platform/postgres/database.ts";
import { newUuid } from "../../platform/ids.ts";
import { raw, sql, type Sql } from "../../platform/postgres/sql.ts";
import {
  RETRYING,
  distinctEndpoints,
  NEVER_ATTEMPTED,
  forEndpoint,
  canReceive,
} from "../deliveries/queue.sql.ts";
import { INITIAL_WINDOW } from "./endpoint-states.ts";
import type { DeliveryOutcome, OutcomeClass } from "./outcome.ts";

/** A delivery that this process may send until its lease runs out. */
export interface Lease {
  id: string;
  token: string;
  endpointId: string;
  eventId: string;
  /** Which attempt this is, from 1. */
  attempt: number;
  /** It waited in a backup that was restored: it may have been sent before. */
  isAfterRestore: boolean;
  /** Whether another lease ran out before: its holder died, or was too slow. */
  isReclaimed: boolean;
  /** Null: the event is gone. */
  event: EventRow | null;
  /** Of the event; null: its request was not traced. */
  traceParent: string | null;
  endpoint: LeasedEndpoint;
}

/** What the claim saw of the endpoint. */
export interface LeasedEndpoint {
  version: number;
  circuitStep: number | null;
  isFailing: boolean;
  /** How many deliveries the claim might have taken for it. */
  sendBudget: number;
}

/** One attempt as it is kept. */
export interface AttemptRecord {
  id: string;
  deliveryId: string;
  number: number;
  startedAtMs: number;
  durationMs: number;
  outcome: OutcomeClass;
  httpStatus: number | null;
  error: string | null;
  requestHeaders: Readonly<Record<string, string>>;
  responseHeaders: Readonly<Record<string, string>> | null;
  responseBody: string | null;
}

/** What has become of a leased delivery. `pending`: it is due again after `delayMs`. */
export interface FinishedDelivery {
  id: string;
  token: string;
  status: "pending" | "delivered" | "dead";
  delayMs: number;
  outcome: DeliveryOutcome;
  /** Null: nothing was sent. */
  attempt: AttemptRecord | null;
}

export interface ClaimRequest {
  finished: readonly FinishedDelivery[];
  /** How many deliveries to lease at most; 0: none. */
  freeSlots: number;
  /** How many of these may be first attempts. */
  maxFirstAttempts: number;
  /** Endpoints whose retries, probes or expired leases may be due. */
  retryEndpoints: readonly string[];
  /** Where to go on looking for endpoints with deliveries that were never sent; null: from the first one. */
  cursor: string | null;
  /** How many deliveries these endpoints may have now; every other as its limits say. */
  sendBudgets: ReadonlyMap<string, number>;
  /** How many workers share the limits of an endpoint. */
  workerCount: number;
}

export interface ClaimResult {
  leases: Lease[];
  /** Where the next turn goes on; null: everything has been looked at. */
  cursor: string | null;
}

/** Longer than the longest attempt: who still holds a lease then is dead or stuck. */
const LEASE_MS = 30_000;
/** Endpoints looked at in one turn: it bounds the turn however many there are. */
const MAX_ENDPOINTS_SCANNED = 100;
const NIL_UUID = "00000000-0000-0000-0000-000000000000";

type ClaimRow = { looked: number; last_looked: string | null } & (
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
      allowance: number;
      found_event: string | null;
      trace_parent: string | null;
    } & Omit<EventRow, "id">)
);

export async function claimDue(database: Queryable, request: ClaimRequest): Promise<ClaimResult> {
  if (request.freeSlots === 0) {
    await recordFinished(database, request.finished);
    return { leases: [], cursor: request.cursor };
  }
  const token = newUuid();
  const rows = await database.query<ClaimRow>(claimSql(request, token));
  const leases = rows.flatMap((row) => (row.id === null ? [] : [toLease(row, token)]));
  return { leases, cursor: nextCursor(request, rows[0], leases) };
}

/** Endpoints take turns: where there were more than could be looked at, or served, the next turn goes on after the last. */
function nextCursor(
  request: ClaimRequest,
  row: ClaimRow | undefined,
  leases: readonly Lease[],
): string | null {
  const served = leases.filter(({ attempt }) => attempt === 1).map(({ endpointId }) => endpointId);
  // In its text a uuid has the order that PostgreSQL gives it.
  if (served.length >= request.maxFirstAttempts) return served.toSorted().at(-1) ?? request.cursor;
  return row && row.looked === MAX_ENDPOINTS_SCANNED ? row.last_looked : null;
}

/** Those of `again` that may have more than they got in a turn: they were served in full, or nobody could be. */
export function unserved(
  retryEndpoints: readonly string[],
  { leases, free: freeSlots }: { leases: readonly Lease[]; free: number },
): string[] {
  if (leases.length >= freeSlots) return [...retryEndpoints];
  const leased = new Map<string, number>();
  for (const { endpointId } of leases) leased.set(endpointId, (leased.get(endpointId) ?? 0) + 1);
  const servedInFull = new Set(
    leases.flatMap(({ endpointId, endpoint }) =>
      leased.get(endpointId) === endpoint.sendBudget ? [endpointId] : [],
    ),
  );
  return retryEndpoints.filter((id) => servedInFull.has(id));
}

/** A turn that leases nothing. */
export async function recordFinished(
  database: Queryable,
  finished: readonly FinishedDelivery[],
): Promise<void> {
  if (finished.length > 0)
    await database.query(sql`with ${recordFinishedSql(finished)} select from finished`);
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
    event: row.found_event === null ? null : { ...row, id: row.event_id },
    traceParent: row.trace_parent,
    endpoint: {
      version: row.version,
      circuitStep: row.circuit_step,
      isFailing: row.is_failing,
      sendBudget: row.allowance,
    },
  };
}

/** The steps `recorded` and `finished`. A lease that another has taken over since is left alone; its attempt was made all the same. */
function recordFinishedSql(finished: readonly FinishedDelivery[]): Sql {
  const ids = finished.map(({ id }) => id);
  const attempts = finished.flatMap(({ attempt }) => (attempt ? [attempt] : []));
  return sql`recorded as (
      insert into webhook_attempt (id, delivery_id, number, started_at, duration_ms, outcome, http_status, error,
        request_headers, response_headers, response_body)
      select id, delivery_id, number, to_timestamp(started_at_ms / 1000), duration_ms, outcome, http_status, error,
        request_headers, response_headers, response_body
      from unnest(${attempts.map(({ id }) => id)}::uuid[], ${attempts.map(({ deliveryId }) => deliveryId)}::uuid[],
        ${attempts.map(({ number }) => number)}::int[], ${attempts.map(({ startedAtMs }) => startedAtMs)}::float8[],
        ${attempts.map(({ durationMs }) => Math.round(durationMs))}::int[],
        ${attempts.map(({ outcome }) => outcome)}::text[], ${attempts.map(({ httpStatus }) => httpStatus)}::int[],
        ${attempts.map(({ error }) => error)}::text[],
        ${attempts.map(({ requestHeaders }) => JSON.stringify(requestHeaders))}::json[],
        ${attempts.map(({ responseHeaders }) => responseHeaders && JSON.stringify(responseHeaders))}::json[],
        ${attempts.map(({ responseBody }) => responseBody)}::text[]
      ) made (id, delivery_id, number, started_at_ms, duration_ms, outcome, http_status, error, request_headers,
        response_headers, response_body)
      -- The statement is run again when its answer was lost.
      on conflict do nothing
    ), finished as (
      update webhook_delivery set status = ended.status, due_at = clock_timestamp() + ended.delay_ms * interval '1 ms',
        lease_token = null, outcome = ended.outcome,
        finished_at = case when ended.status <> 'pending' then clock_timestamp() end
      from unnest(${ids}::uuid[], ${finished.map(({ token }) => token)}::uuid[],
        ${finished.map(({ status }) => status)}::text[], ${finished.map(({ delayMs }) => delayMs)}::float8[],
        ${finished.map(({ outcome }) => outcome)}::text[]) ended (id, token, status, delay_ms, outcome)
      -- The array as well: however few rows the plan reckons with, no join then reads the whole queue.
      where webhook_delivery.status = 'pending' and webhook_delivery.id = any(${ids}::uuid[])
        and webhook_delivery.id = ended.id
        and webhook_delivery.lease_token = ended.token
      returning 1
    )`;
}

const leaseEndSql = sql`clock_timestamp() + ${LEASE_MS} * interval '1 ms'`;

/** The steps that find the endpoints which may be sent to (`ready`), each with how much. */
function eligibleEndpointsSql({ retryEndpoints, cursor, sendBudgets, workerCount }: ClaimRequest): Sql {
  return sql`${distinctEndpoints(raw("waiting"), NEVER_ATTEMPTED, sql`${cursor ?? NIL_UUID}::uuid`)}, looked as materialized (
      select endpoint_id from waiting limit ${MAX_ENDPOINTS_SCANNED}
    ), open as materialized (
      select endpoint.id, endpoint.version, endpoint.circuit_step, endpoint.failing_since is not null as is_failing,
        case when endpoint.circuit_step is not null then 1
          else coalesce(given.allowance, greatest(1, least(${INITIAL_WINDOW}, endpoint.max_in_flight, endpoint.per_second) / ${workerCount}::int))
        end as allowance
      from (select endpoint_id from looked union select unnest(${retryEndpoints}::uuid[])) candidate
        join webhook_endpoint endpoint on endpoint.id = candidate.endpoint_id
        join organization on organization.id = endpoint.organization_id
        left join unnest(${[...sendBudgets.keys()]}::uuid[], ${[...sendBudgets.values()]}::int[]) given (id, allowance)
          on given.id = endpoint.id
      where ${canReceive} and coalesce(given.allowance, 1) > 0
    ), probed as (
      -- An open circuit lets a single delivery through, whichever worker comes first. Rows are locked in one order everywhere.
      update webhook_endpoint set blocked_until = ${leaseEndSql} where id in (
        select endpoint.id from webhook_endpoint endpoint join open using (id)
        where open.circuit_step is not null and endpoint.blocked_until <= clock_timestamp() and (
          exists (select from webhook_delivery
            where ${NEVER_ATTEMPTED} and ${forEndpoint(sql`endpoint.id`)})
          or exists (select from webhook_delivery
            where ${RETRYING} and ${forEndpoint(sql`endpoint.id`)} and due_at <= clock_timestamp()))
        order by endpoint.id for update of endpoint skip locked)
      returning id
    ), ready as materialized (
      select * from open where circuit_step is null or id in (select id from probed)
    )`;
}

function claimSql(request: ClaimRequest, token: string): Sql {
  const { finished, freeSlots, maxFirstAttempts, retryEndpoints } = request;
  return sql`
    with recursive ${finished.length > 0 ? sql`${recordFinishedSql(finished)},` : sql``}
    ${eligibleEndpointsSql(request)}, first as materialized (
      select ready.id as endpoint_id, due.id, false as is_reclaimed
      from (select * from ready order by id) ready cross join lateral (
        select id from webhook_delivery
        where ${NEVER_ATTEMPTED} and ${forEndpoint(sql`ready.id`)}
        order by endpoint_id, id limit ready.allowance for update skip locked) due
      limit ${maxFirstAttempts}
    ), again as (
      select ready.id as endpoint_id, due.id, due.is_reclaimed from ready cross join lateral (
        select id, lease_token is not null as is_reclaimed from webhook_delivery
        where ${RETRYING} and ${forEndpoint(sql`ready.id`)} and due_at <= clock_timestamp()
          and id <> all(${finished.map(({ id }) => id)}::uuid[])
        order by endpoint_id, due_at
        limit ready.allowance - (select count(*) from first where first.endpoint_id = ready.id)
        for update skip locked) due
      where ready.id = any(${retryEndpoints}::uuid[])
      limit ${freeSlots} - (select count(*) from first)
    ), leased as (
      update webhook_delivery set attempts = webhook_delivery.attempts + 1, due_at = ${leaseEndSql}, lease_token = ${token}::uuid
      from (select * from first union all select * from again) due
      where webhook_delivery.status = 'pending' and webhook_delivery.id = due.id
      returning webhook_delivery.id, webhook_delivery.endpoint_id, webhook_delivery.event_id, webhook_delivery.attempts,
        webhook_delivery.after_restore, due.is_reclaimed
    )
    select (select count(*)::int from looked) as looked,
      (select endpoint_id from looked order by endpoint_id desc limit 1) as last_looked,
      leased.*, ready.version, ready.circuit_step, ready.is_failing, ready.allowance,
      event.id as found_event, event.type, event.sequence, event.actor_type, event.actor_id, event.request_id,
      event.trace_parent, event.occurred_at, event.changes, event.job
    from (values (1)) always (here)
      left join leased on true
      left join ready on ready.id = leased.endpoint_id
      -- Looked up one by one: of a plan's own choice, a join of some hundred leases read the whole index of events.
      left join lateral (select * from job_event where job_event.id = leased.event_id limit 1) event on true`;
}
