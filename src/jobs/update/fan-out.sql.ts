/** Creates the webhook deliveries of events in the statement that inserts the events, so that none can be lost. */
import { uuidV7Sql } from "../../platform/ids.ts";
import { sql, type Sql } from "../../platform/postgres/sql.ts";

/**
 * Inserts one delivery per event and subscribed endpoint of the organisations that can see the event, and returns one row per
 * delivery. `events` has (id, type, job_id, agent_id, contractor_id). Deliveries of paused or disabled endpoints are on hold.
 */
export function fanOutSql(events: Sql): Sql {
  return sql`insert into webhook_delivery (id, endpoint_id, event_id, event_type, job_id)
    select ${uuidV7Sql}, endpoint.id, event.id, event.type, event.job_id
    from ${events} event
      cross join lateral (values (event.agent_id), (event.contractor_id)) audience (organization_id)
      join webhook_endpoint endpoint on endpoint.organization_id = audience.organization_id
    where endpoint.deleted_at is null
      and (endpoint.event_types is null or event.type = any(endpoint.event_types))
    returning 1`;
}
