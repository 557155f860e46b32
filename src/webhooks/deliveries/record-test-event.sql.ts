/** Records a test event in the delivery log: a finished delivery with its only attempt. */
import type { Queryable } from "../../platform/postgres/database.ts";
import { newUuid } from "../../platform/ids.ts";
import { sql } from "../../platform/postgres/sql.ts";
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
