/** Test events: webhooks without a job that check an endpoint. This process sends them, so that the caller gets the response. */
import { raw } from "@mikro-orm/postgresql";
import { API_VERSION } from "../../events/api.ts";
import type { Clock } from "../../core/clock.ts";
import { AppError } from "../../core/errors.ts";
import { newUuid, timestampOf, toTypedId } from "../../core/ids.ts";
import type { Database } from "../../core/postgres/database.ts";
import type { SecretBox } from "../../core/secret-box.ts";
import type { Sender } from "../dispatcher/sign-and-send.ts";
import { noFailures, WebhookEndpoint } from "../endpoints/entity.ts";
import { openHeaders, openSecrets } from "../signing/secrets.ts";
import { recordTestDelivery } from "./record-test-event.sql.ts";
import { retryWaiting } from "./retry-waiting.sql.ts";
import { TEST_EVENT_TYPE } from "./view.ts";

export interface TestEventWire {
  id: string;
  type: typeof TEST_EVENT_TYPE;
  api_version: typeof API_VERSION;
  timestamp: string;
  data: { message: string; endpoint_id: string };
}

const MESSAGE = "This is a test event without a job. Respond with any 2xx status.";

/** Builds the test event from the stored ids, so that the log can show the exact body. Its timestamp is that of the id. */
export function buildTestEvent(eventId: string, endpointId: string): TestEventWire {
  return {
    id: toTypedId("evt", eventId),
    type: TEST_EVENT_TYPE,
    api_version: API_VERSION,
    timestamp: timestampOf(eventId),
    data: { message: MESSAGE, endpoint_id: toTypedId("whe", endpointId) },
  };
}

const HTTP_GONE = 410;
const GONE_MESSAGE =
  "The receiver returned 410 Gone. This was a test, so the endpoint stays active; a real event would disable it.";

export interface TestEventDeps {
  database: Database;
  notifyWorkers: (endpointIds?: readonly string[]) => void;
  secretBox: Pick<SecretBox, "open">;
  sender: Sender;
  clock: Clock;
}

/**
 * Sends a test event. A success ends the failures of an active endpoint and makes its retries due. Returns
 * the typed id of the finished delivery. Throws ConflictException if secrets cannot be read.
 */
export async function sendTestEvent(deps: TestEventDeps, endpoint: WebhookEndpoint): Promise<string> {
  const { database, sender } = deps;
  const eventId = newUuid();
  const result = await sender.send({
    endpoint: { url: endpoint.url, ...decryptEndpoint(deps, endpoint) },
    webhookId: toTypedId("evt", eventId),
    body: JSON.stringify(buildTestEvent(eventId, endpoint.id)),
  });
  const { status, message } = result.outcome;
  const deliveryId = newUuid();
  await recordTestDelivery(database, {
    deliveryId,
    eventId,
    endpointId: endpoint.id,
    eventType: TEST_EVENT_TYPE,
    result,
    error: status === HTTP_GONE ? GONE_MESSAGE : message,
  });
  if (result.outcome.class === "delivered") await endFailures(deps, endpoint.id);
  return toTypedId("dlv", deliveryId);
}

/** A new version, so that attempts that started during the failure do not open the circuit again. */
async function endFailures({ database, notifyWorkers }: TestEventDeps, id: string): Promise<void> {
  const failing = { id, status: "active", failingSince: { $ne: null } } as const;
  const recovered = { ...noFailures, version: raw("version + 1") };
  const options = { filters: false } as const;
  if ((await database.em().nativeUpdate(WebhookEndpoint, failing, recovered, options)) === 0) return;
  await retryWaiting(database, id);
  notifyWorkers([id]);
}

function decryptEndpoint(
  { secretBox, clock }: TestEventDeps,
  { id, secrets, sealedHeaders }: WebhookEndpoint,
): { headers: Record<string, string>; secrets: string[] } {
  try {
    return {
      headers: openHeaders(secretBox, id, sealedHeaders),
      secrets: openSecrets(secretBox, id, { secrets, nowMs: clock.now() }),
    };
  } catch (cause) {
    throw new AppError("ConflictException", (cause as Error).message, { cause });
  }
}
