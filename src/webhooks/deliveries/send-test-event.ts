/** Sends a test event from this process, so that the caller gets the response, and records it in the log. */
import type { Clock } from "../../platform/clock.ts";
import type { Queryable } from "../../platform/postgres/database.ts";
import { AppError } from "../../platform/errors.ts";
import { newUuid, toTypedId } from "../../platform/ids.ts";
import type { InFlightLimit } from "../../platform/concurrency/in-flight-limit.ts";
import type { SecretBox } from "../../platform/secret-box.ts";
import { sql } from "../../platform/postgres/sql.ts";
import type { WebhookPrincipal } from "../tenant-scope.ts";
import { getEndpoint } from "../endpoints/queries.ts";
import { openHeaders, openSecrets } from "../signing/secrets.ts";
import type { EndpointRow } from "../endpoints/view.ts";
import { webhookIdOf } from "./payload.ts";
import type { AttemptResult, Sender } from "../dispatcher/sender.ts";
import { TEST_EVENT_TYPE, buildTestEvent } from "./test-event.ts";

export interface TestEventDeps {
  database: Queryable;
  secretBox: Pick<SecretBox, "open">;
  sender: Sender;
  /** Per organisation, because a receiver can take 15 s to respond. */
  testEventLimit: InFlightLimit;
  clock: Clock;
}

/**
 * Sends a test event at any status of the endpoint. Returns the typed id of the finished delivery. Throws
 * TooManyRequestsException if too many test events of the organisation are in flight, ConflictException if the endpoint's
 * secrets cannot be read.
 */
export async function sendTestEvent(
  deps: TestEventDeps,
  principal: WebhookPrincipal,
  endpointId: string,
): Promise<string> {
  const { row } = await getEndpoint(deps, principal, endpointId);
  const eventId = newUuid();
  const request = {
    endpoint: { url: row.url, ...decryptEndpoint(deps, row) },
    webhookId: webhookIdOf(eventId),
    body: JSON.stringify(buildTestEvent(eventId, row.id)),
  };
  const result = await deps.testEventLimit.run(row.organization_id, () => deps.sender.send(request));
  const deliveryId = newUuid();
  await recordTestDelivery(deps.database, { deliveryId, eventId, endpointId: row.id, result });
  return toTypedId("dlv", deliveryId);
}

function decryptEndpoint(
  { secretBox, clock }: TestEventDeps,
  row: EndpointRow,
): { headers: Record<string, string>; secrets: string[] } {
  try {
    return {
      headers: openHeaders(secretBox, row.id, row.sealed_headers),
      secrets: openSecrets(secretBox, row.id, { secrets: row.secrets, nowMs: clock.now() }),
    };
  } catch (cause) {
    throw new AppError("ConflictException", (cause as Error).message, { cause });
  }
}

const HTTP_GONE = 410;
const GONE_MESSAGE =
  "The receiver returned 410 Gone. This was a test, so the endpoint stays active; a real event would disable it.";

interface TestDelivery {
  deliveryId: string;
  eventId: string;
  endpointId: string;
  result: AttemptResult;
}

async function recordTestDelivery(
  database: Queryable,
  { deliveryId, eventId, endpointId, result }: TestDelivery,
): Promise<void> {
  const { outcome, responseHeaders } = result;
  const status = outcome.class === "delivered" ? "delivered" : "failed";
  await database.query(sql`
    with delivery as (
      insert into webhook_delivery
        (id, endpoint_id, event_id, event_type, origin, status, attempts, outcome, finished_at)
      values (${deliveryId}, ${endpointId}, ${eventId}, ${TEST_EVENT_TYPE}, 'test', ${status}, 1, ${outcome.class},
        clock_timestamp())
    )
    insert into webhook_attempt (id, delivery_id, number, started_at, duration_ms, outcome, http_status, error,
      request_headers, response_headers, response_body)
    values (${newUuid()}, ${deliveryId}, 1, ${new Date(result.startedAtMs)}, ${Math.round(result.durationMs)},
      ${outcome.class}, ${outcome.status}, ${outcome.status === HTTP_GONE ? GONE_MESSAGE : outcome.message}, ${JSON.stringify(result.requestHeaders)}::json,
      ${responseHeaders && JSON.stringify(responseHeaders)}::json, ${result.responseBody})`);
}
