/** The health of endpoints in the last 24 hours, measured from a bounded number of deliveries in the log. */
import type { Queryable } from "../../core/postgres/database.ts";
import { minUuidAt } from "../../core/ids.ts";
import { raw, sql, type Sql } from "../../core/postgres/sql.ts";
import { HOUR_MS, toIsoTime } from "../../core/time.ts";
import type { WebhookPrincipal } from "../webhook-principal.ts";
import { attemptColumns, tenantFilter } from "./log-lookups.sql.ts";
import { FINISHED, forEndpoint, NEVER_ATTEMPTED, RETRYING } from "./queue-lanes.sql.ts";
import { toAttemptView, type AttemptRow, type AttemptView } from "./view.ts";

export interface EndpointHealth {
  /** The number of measured attempts. */
  attempts: number;
  /** True if the endpoint had too many deliveries, so that a sample of each hour is measured. */
  isSampled: boolean;
  /** 0 to 1; null without attempts, as are the response times in milliseconds. */
  successRate: number | null;
  p50Ms: number | null;
  p95Ms: number | null;
  /** The newest measured attempt that failed. */
  lastError: AttemptView | null;
  /** Null if nothing is pending or the endpoint is paused, disabled or suspended. In the past: as soon as possible. */
  nextAttemptAt: string | null;
}

const HOURS = 24;
const MAX_DELIVERIES = 1_000;
/** Of all endpoints of a list. It divides them equally. */
const MAX_TOTAL = 20_000;

type HealthRow = Pick<EndpointHealth, "attempts" | "isSampled" | "nextAttemptAt"> & {
  endpointId: string;
  succeeded: number;
  percentiles: [number, number] | null;
} & (AttemptRow | { [Name in keyof AttemptRow]: null });

/**
 * The health of the visible endpoints by their ids (UUIDs), in one statement. It measures the attempts of the last 24 hours of
 * deliveries that were created in that time or wait for a retry.
 */
export async function endpointHealth(
  database: Queryable,
  principal: WebhookPrincipal,
  { endpointIds, nowMs }: { endpointIds: readonly string[]; nowMs: number },
): Promise<Map<string, EndpointHealth>> {
  const perHour = Math.max(1, Math.floor(Math.min(MAX_DELIVERIES, MAX_TOTAL / endpointIds.length) / HOURS));
  const max = perHour * HOURS;
  // The newest hour has no end, because PostgreSQL's clock creates the ids.
  const hours = Array.from({ length: HOURS }, (_, ago) => ({
    from: minUuidAt(new Date(nowMs - (ago + 1) * HOUR_MS)),
    until: minUuidAt(new Date(ago === 0 ? nowMs + HOUR_MS : nowMs - ago * HOUR_MS)),
  }));
  const since = new Date(nowMs - HOURS * HOUR_MS);
  const ofDay = loggedBetween(sql`${minUuidAt(since)}::uuid`, sql`${hours[0]?.until}::uuid`);
  const ofLane = sql`${RETRYING} and ${forEndpoint(raw("endpoint.id"))}`;
  const rows = await database.query<HealthRow>(sql`
    with endpoint as materialized (
      select endpoint.id, ${nextAttemptSql} as next_attempt_at,
        (exists (select from webhook_delivery where ${ofDay} order by endpoint_id desc, id desc offset ${max} limit 1)
          or exists (select from webhook_delivery where ${ofLane} order by endpoint_id, due_at offset ${max} limit 1)) as is_sampled
      from webhook_endpoint endpoint join organization on organization.id = endpoint.organization_id
      where endpoint.id = any(${endpointIds}::uuid[]) and ${tenantFilter(principal)}
    ), measured as (
      select endpoint.id as endpoint_id, delivery.id from endpoint cross join lateral (
        select id from webhook_delivery where ${ofDay}
        order by endpoint_id desc, id desc limit case when endpoint.is_sampled then 0 else ${max}::int end) delivery
      union all
      select endpoint.id, delivery.id from endpoint
        cross join unnest(${hours.map(({ from }) => from)}::uuid[], ${hours.map(({ until }) => until)}::uuid[]) hour (start, stop)
        cross join lateral (
          select id from webhook_delivery where ${loggedBetween(raw("hour.start"), raw("hour.stop"))}
          order by endpoint_id desc, id desc limit ${perHour}) delivery
      where endpoint.is_sampled
      union all
      select endpoint.id, delivery.id from endpoint cross join lateral (
        select id from webhook_delivery where ${ofLane} order by endpoint_id desc, due_at desc limit ${max}) delivery
    ), attempt as materialized (
      -- \`offset 0\` keeps a look-up by the primary key for each delivery.
      select measured.endpoint_id, attempt.* from measured cross join lateral (
        select delivery_id, id, outcome, duration_ms from webhook_attempt
        where delivery_id = measured.id and started_at >= ${since}::timestamptz offset 0) attempt
    ), counted as (
      select endpoint_id, count(*)::int as attempts, count(*) filter (where outcome = 'delivered')::int as succeeded,
        percentile_disc(array[0.5, 0.95]) within group (order by duration_ms) as percentiles
      from attempt group by endpoint_id
    ), newest_error as (
      select distinct on (endpoint_id) endpoint_id, delivery_id, id from attempt
      where outcome <> 'delivered' order by endpoint_id, id desc
    )
    select endpoint.id as "endpointId", endpoint.is_sampled as "isSampled", endpoint.next_attempt_at as "nextAttemptAt",
      coalesce(counted.attempts, 0) as attempts, coalesce(counted.succeeded, 0) as succeeded, counted.percentiles, error.*
    from endpoint left join counted on counted.endpoint_id = endpoint.id
      left join newest_error on newest_error.endpoint_id = endpoint.id
      left join lateral (
        select ${attemptColumns} from webhook_attempt
        where delivery_id = newest_error.delivery_id and id = newest_error.id) error on true`);
  return new Map(rows.map((row) => [row.endpointId, toHealth(row)]));
}

/** The newest deliveries of an endpoint that are counted. */
const MAX_COUNTED = 10_000;

/** Counts the finished deliveries of an organisation's endpoints (a UUID) since a time, at most 10,000 per endpoint. */
export async function countDeliveries(
  database: Queryable,
  organizationId: string,
  since: Date,
): Promise<{ delivered: number; failed: number }> {
  const ofTime = loggedBetween(
    sql`${minUuidAt(since)}::uuid`,
    raw("'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid"),
  );
  const [row] = await database.query<{ delivered: number; failed: number }>(sql`
    select count(*) filter (where delivery.status = 'delivered')::int as delivered,
      count(*) filter (where delivery.status = 'failed')::int as failed
    from webhook_endpoint endpoint cross join lateral (
      select status from webhook_delivery where ${ofTime} and origin <> 'test'
      order by endpoint_id desc, id desc limit ${MAX_COUNTED}::int) delivery
    where endpoint.organization_id = ${organizationId}::uuid and endpoint.deleted_at is null`);
  return row ?? { delivered: 0, failed: 0 };
}

/** Compares rows: with `endpoint_id =`, a plan for an empty week reads the primary key, and so the deliveries of all endpoints. */
const loggedBetween = (start: Sql, stop: Sql): Sql => sql`${FINISHED}
  and (endpoint_id, id) >= (endpoint.id, ${start}) and (endpoint_id, id) < (endpoint.id, ${stop})`;

/** The time at which the next delivery to `endpoint` can be sent. One that was never attempted waits only for the endpoint. */
const nextAttemptSql = sql`(
  select case when endpoint.status = 'active' and organization.suspended_at is null
    then greatest(due.due_at, endpoint.blocked_until) end
  from (
    (select due_at from webhook_delivery where ${NEVER_ATTEMPTED} and ${forEndpoint(raw("endpoint.id"))}
      order by endpoint_id, id limit 1)
    union all
    (select due_at from webhook_delivery where ${RETRYING} and ${forEndpoint(raw("endpoint.id"))} and lease_token is null
      order by endpoint_id, due_at limit 1)
    order by due_at limit 1) due)`;

function toHealth(row: HealthRow): EndpointHealth {
  const { attempts, succeeded, isSampled, percentiles, nextAttemptAt } = row;
  return {
    attempts,
    isSampled,
    successRate: attempts === 0 ? null : succeeded / attempts,
    p50Ms: percentiles?.[0] ?? null,
    p95Ms: percentiles?.[1] ?? null,
    lastError: row.id === null ? null : toAttemptView(row),
    nextAttemptAt: nextAttemptAt === null ? null : toIsoTime(nextAttemptAt),
  };
}
