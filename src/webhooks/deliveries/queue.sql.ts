/**
 * SQL conditions for the delivery queue. It has two lanes, each with a partial index that starts with the endpoint. PostgreSQL
 * uses such an index only for exactly this condition.
 */
import { raw, sql, type Sql } from "../../platform/postgres/sql.ts";

/** Lane: never attempted. */
export const NEVER_ATTEMPTED = raw("status = 'pending' and attempts = 0");
/** Lane: attempted before, or in flight. */
export const RETRYING = raw("status = 'pending' and attempts > 0");

/** The log of finished deliveries. */
export const FINISHED = raw("status in ('delivered', 'failed', 'discarded')");

/**
 * Matches an endpoint's deliveries by a range. Together with `order by endpoint_id`, only the lane's index fits. With `=`,
 * PostgreSQL may scan the primary key or the whole queue, for example after planning with an empty queue.
 */
export const forEndpoint = (endpointId: Sql): Sql => sql`endpoint_id between ${endpointId} and ${endpointId}`;

/**
 * A CTE for `with recursive`: the ids of the endpoints with deliveries in `lane`, in order, each once, optionally only those
 * after `after`. It skips through the index from endpoint to endpoint (loose index scan).
 */
export function distinctEndpoints(name: Sql, lane: Sql, after?: Sql): Sql {
  const next = (previous?: Sql): Sql => sql`
    select endpoint_id from webhook_delivery
    where ${lane} ${previous ? sql`and endpoint_id > ${previous}` : sql``} order by endpoint_id limit 1`;
  return sql`${name} (endpoint_id) as (
      (${next(after)})
      union all
      select next.endpoint_id from ${name} cross join lateral (${next(sql`${name}.endpoint_id`)}) next
    )`;
}

/** SQL condition: `endpoint` of `organization` can receive deliveries now. */
export const canReceive = raw(`endpoint.status = 'active' and endpoint.deleted_at is null
  and organization.suspended_at is null
  and (endpoint.blocked_until is null or endpoint.blocked_until <= clock_timestamp())`);
