/** From an event to its deliveries, in the statement that records the event: nothing stands between them that could be lost. */
import { uuidV7Sql } from "../../platform/ids.ts";
import { sql, type Sql } from "../../platform/postgres/sql.ts";

/**
 * An insert of one delivery for each of `events` (rows of (id, type, job_id, agent_id, contractor_id)) and each endpoint
 * that wants it, of the organisations that may see it: the same that `GET /v1/events` shows it to. Endpoints that are
 * paused or disabled get theirs too; it waits. It returns one row per delivery.
 */
export function fanOutSql(events: Sql): Sql {
  return sql`insert into webhook_delivery (id, endpoint_id, event_id, event_type, job_id)
    select ${uuidV7Sql}, endpoint.id, event.id, event.type, event.job_id
    from ${events} event
      cross join lateral (values (event.agent_id), (event.contractor_id)) viewer (organization_id)
      join webhook_endpoint endpoint on endpoint.organization_id = viewer.organization_id
    where endpoint.deleted_at is null
      and (endpoint.event_types is null or event.type = any(endpoint.event_types))
    returning 1`;
}
