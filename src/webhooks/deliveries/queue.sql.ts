/**
 * The queue's two lanes, each with a partial index of its own that leads with the endpoint: conditions that name a lane are
 * written here once, since a plan finds the index by their very words.
 */
import { raw, sql, type Sql } from "../../platform/postgres/sql.ts";

/** Never sent. */
export const NEVER_ATTEMPTED = raw("status = 'pending' and attempts = 0");
/** To be sent again, or being sent. */
export const RETRYING = raw("status = 'pending' and attempts > 0");

/** In the log. */
export const FINISHED = raw("status in ('delivered', 'dead', 'discarded')");

/**
 * That a delivery is of this endpoint, as a range: with `order by endpoint_id` no other index than the lane's gives that
 * order. With `=` PostgreSQL may as well read the primary key in order, or the whole queue, and does where it made its plan
 * while the queue was empty.
 */
export const forEndpoint = (endpointId: Sql): Sql => sql`endpoint_id between ${endpointId} and ${endpointId}`;

/**
 * A step of a `with recursive`: each endpoint once that has deliveries in `lane`, in the order of their ids, from `after` on
 * where given. The index is leapt through from one endpoint to the next, never read.
 */
export function distinctEndpoints(name: Sql, lane: Sql, after?: Sql): Sql {
  const next = (before?: Sql): Sql => sql`
    select endpoint_id from webhook_delivery
    where ${lane} ${before ? sql`and endpoint_id > ${before}` : sql``} order by endpoint_id limit 1`;
  return sql`${name} (endpoint_id) as (
      (${next(after)})
      union all
      select next.endpoint_id from ${name} cross join lateral (${next(sql`${name}.endpoint_id`)}) next
    )`;
}

/** That `endpoint`, of its `organization`, may be sent to now. */
export const canReceive = raw(`endpoint.status = 'active' and endpoint.deleted_at is null
  and organization.suspended_at is null
  and (endpoint.blocked_until is null or endpoint.blocked_until <= clock_timestamp())`);
