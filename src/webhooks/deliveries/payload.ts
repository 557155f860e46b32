/** Builds the body and id of a webhook. The same event always yields the same bytes, so bodies are not stored. */
import { type EventAudience, type EventRow, toEventWire } from "../../events/api.ts";
import { toTypedId } from "../../platform/ids.ts";

/** The request body for `event` as `audience` may see it. */
export function deliveryBody(event: EventRow, audience: EventAudience): string {
  return JSON.stringify(toEventWire(event, audience));
}

/** The `webhook-id`, which equals the body's `id`. It is the same for every attempt and replay of the event. */
export function webhookIdOf(eventId: string): string {
  return toTypedId("evt", eventId);
}
