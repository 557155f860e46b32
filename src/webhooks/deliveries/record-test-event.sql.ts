/** Writes deliveries of test events: a finished one with its only attempt, and pending ones of test mode. */
import type { Queryable } from "../../core/postgres/database.ts";
import { newUuid, uuidV7Sql } from "../../core/ids.ts";
import { sql } from "../../core/postgres/sql.ts";
import type { AttemptResult } from "../dispatcher/lease.ts";

export interface TestDelivery {
  /** UUIDs. */
  deliveryId: string;
  eventId: string;
  endpointId: string;
  eventType: string;
  result: AttemptResult;
  /** Message for the endpoint's owner; null if delivered. */
  error: string | null;
}

export async function recordTestDelivery(
  database: Queryable,
  { deliveryId, eventId, endpointId, eventType, result, error }: TestDelivery,
): Promise<void> {
  const { outcome, responseHeaders } = result;
  const status = outcome.class === "delivered" ? "delivered" : "failed";
  await database.query(sql`
    with delivery as (
      insert into webhook_delivery
        (id, endpoint_id, event_id, event_type, origin, status, attempts, outcome, finished_at)
      values (${deliveryId}, ${endpointId}, ${eventId}, ${eventType}, 'test', ${status}, 1, ${outcome.class},
        clock_timestamp())
    )
    insert into webhook_attempt (id, delivery_id, number, started_at, duration_ms, outcome, http_status, error,
      request_headers, response_headers, response_body)
    values (${newUuid()}, ${deliveryId}, 1, ${new Date(result.startedAtMs)}, ${Math.round(result.durationMs)},
      ${outcome.class}, ${outcome.status}, ${error}, ${JSON.stringify(result.requestHeaders)}::json,
      ${responseHeaders && JSON.stringify(responseHeaders)}::json, ${result.responseBody})`);
}

/** Creates a pending delivery of the event to each of the endpoints (UUIDs). Returns the UUIDs of the deliveries. */
export async function createDeliveries(
  database: Queryable,
  { id, type, jobId }: { id: string; type: string; jobId: string | null },
  endpointIds: readonly string[],
): Promise<string[]> {
  const rows = await database.query<{ id: string }>(sql`
    insert into webhook_delivery (id, endpoint_id, event_id, event_type, job_id)
    select ${uuidV7Sql}, endpoint_id, ${id}::uuid, ${type}, ${jobId}::uuid
    from unnest(${[...endpointIds]}::uuid[]) endpoint_id
    returning id`);
  return rows.map((row) => row.id);
}
