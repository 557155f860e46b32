/**
 * SQL conditions for the delivery queue. It has two lanes, each with a partial index that starts with the endpoint. PostgreSQL
 * uses such an index only for exactly this condition.
 */
import { raw, sql, type Sql } from "../../core/postgres/sql.ts";

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
 * A CTE for `with recursive`: the ids of the endpoints with deliveries in `lane`, in order, each once. It skips through the index
 * from endpoint to endpoint (loose index scan).
 */
export function distinctEndpoints(name: Sql, lane: Sql): Sql {
  return sql`${name} (endpoint_id) as (
      (select endpoint_id from webhook_delivery where ${lane} order by endpoint_id limit 1)
      union all ${nextEndpoint(name, lane)}
    )`;
}

/** The recursive part of `distinctEndpoints`, for a CTE that does not start at the first endpoint. */
export function nextEndpoint(name: Sql, lane: Sql): Sql {
  return sql`select next.endpoint_id from ${name} cross join lateral (
      select endpoint_id from webhook_delivery where ${lane} and endpoint_id > ${name}.endpoint_id
      order by endpoint_id limit 1) next`;
}

/** SQL condition: `endpoint` of `organization` can receive deliveries now. */
export const canReceive = raw(`endpoint.status = 'active' and endpoint.deleted_at is null
  and organization.suspended_at is null
  and (endpoint.blocked_until is null or endpoint.blocked_until <= clock_timestamp())`);
