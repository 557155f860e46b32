/** Sends a test event at once, from this process, so that whoever asked sees the answer; and puts it into the log. */
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
  /** By organisation: a receiver may take 15 s to answer. */
  testEventLimit: InFlightLimit;
  clock: Clock;
}

/**
 * Sends whatever the endpoint's status is. Returns the typed id of the delivery, which is finished by then. Throws
 * TooManyRequestsException while too many test events of the endpoint's organisation are in flight.
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
/** Of real events the endpoint would be disabled. */
const GONE_MESSAGE =
  "The receiver answered 410 Gone. The endpoint stays as it is, because this was a test; a real event would disable it.";

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
  const status = outcome.class === "delivered" ? "delivered" : "dead";
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
