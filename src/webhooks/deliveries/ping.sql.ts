/**
 * Pings, which the API calls test events: webhooks without a job that check an endpoint. This process sends them, so that the caller
 * gets the response.
 */
import { raw } from "@mikro-orm/postgresql";
import { API_VERSION } from "../../events/api.ts";
import type { Clock } from "../../core/clock.ts";
import { AppError } from "../../core/errors.ts";
import { newUuid, timestampOf, toTypedId } from "../../core/ids.ts";
import type { Database } from "../../core/postgres/database.ts";
import { sql } from "../../core/postgres/sql.ts";
import type { SecretBox } from "../../core/secret-box.ts";
import type { SendRequest, Sender } from "../dispatcher/sign-and-send.ts";
import { noFailures, WebhookEndpoint } from "../endpoints/entity.ts";
import { openHeaders, openSecrets } from "../signing/secrets.ts";
import { retryWaiting } from "./retry-waiting.sql.ts";
import { PING_TYPE } from "./view.ts";

export type PingWire = ReturnType<typeof buildPing>;

/** Builds the ping from the stored ids, so that the log can show the exact body. Its timestamp is that of the id. */
export function buildPing(eventId: string, endpointId: string) {
  return {
    id: toTypedId("evt", eventId),
    type: PING_TYPE,
    api_version: API_VERSION,
    timestamp: timestampOf(eventId),
    data: {
      message: "This is a test event without a job. Respond with any 2xx status.",
      endpoint_id: toTypedId("whe", endpointId),
    },
  };
}

const HTTP_GONE = 410;
const GONE_MESSAGE =
  "The receiver returned 410 Gone. This was a test, so the endpoint stays active; a real event would disable it.";

export interface PingDeps {
  database: Database;
  notifyWorkers: (endpointIds?: readonly string[]) => void;
  secretBox: Pick<SecretBox, "open">;
  sender: Sender;
  clock: Clock;
}

/**
 * Sends a ping and records it. A success ends the failures of an active endpoint and makes its retries due. Returns the typed id
 * of the finished delivery. Throws ConflictException if secrets cannot be read.
 */
export async function sendPing(deps: PingDeps, endpoint: WebhookEndpoint): Promise<string> {
  const [eventId, deliveryId] = [newUuid(), newUuid()];
  const result = await deps.sender.send({
    endpoint: decryptEndpoint(deps, endpoint),
    webhookId: toTypedId("evt", eventId),
    body: JSON.stringify(buildPing(eventId, endpoint.id)),
  });
  const { outcome, responseHeaders } = result;
  const isDelivered = outcome.class === "delivered";
  await deps.database.query(sql`
    with delivery as (
      insert into webhook_delivery
        (id, endpoint_id, event_id, event_type, origin, status, attempts, outcome, finished_at)
      values (${deliveryId}, ${endpoint.id}, ${eventId}, ${PING_TYPE}, 'test',
        ${isDelivered ? "delivered" : "failed"}, 1, ${outcome.class}, clock_timestamp())
    )
    insert into webhook_attempt (id, delivery_id, number, started_at, duration_ms, outcome, http_status, error,
      request_headers, response_headers, response_body)
    values (${newUuid()}, ${deliveryId}, 1, ${new Date(result.startedAtMs)}, ${Math.round(result.durationMs)},
      ${outcome.class}, ${outcome.status}, ${outcome.status === HTTP_GONE ? GONE_MESSAGE : outcome.message},
      ${JSON.stringify(result.requestHeaders)}::json,
      ${responseHeaders && JSON.stringify(responseHeaders)}::json, ${result.responseBody})`);
  if (isDelivered) await endFailures(deps, endpoint.id);
  return toTypedId("dlv", deliveryId);
}

/** A new version, so that attempts that started during the failure do not open the circuit again. */
async function endFailures({ database, notifyWorkers }: PingDeps, id: string): Promise<void> {
  const failing = { id, status: "active", failingSince: { $ne: null } } as const;
  const recovered = { ...noFailures, version: raw("version + 1") };
  const options = { filters: false } as const;
  if ((await database.em().nativeUpdate(WebhookEndpoint, failing, recovered, options)) === 0) return;
  await retryWaiting(database, id);
  notifyWorkers([id]);
}

function decryptEndpoint(
  { secretBox, clock }: PingDeps,
  { id, url, secrets, sealedHeaders }: WebhookEndpoint,
): SendRequest["endpoint"] {
  try {
    return {
      url,
      headers: openHeaders(secretBox, id, sealedHeaders),
      secrets: openSecrets(secretBox, id, { secrets, nowMs: clock.now() }),
    };
  } catch (cause) {
    throw new AppError("ConflictException", (cause as Error).message, { cause });
  }
}
