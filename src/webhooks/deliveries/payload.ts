/** The body of a webhook: made of the event's row when it is sent, and again, the same to the byte, when the log shows it. */
import { type EventAudience, type EventRow, toEventWire } from "../../events/api.ts";
import { toTypedId } from "../../platform/ids.ts";

/**
 * What is sent of `event` to an endpoint of `viewer`. Rows of events never change, so neither does this: it is made anew
 * for each attempt and is kept nowhere.
 */
export function deliveryBody(event: EventRow, audience: EventAudience): string {
  return JSON.stringify(toEventWire(event, audience));
}

/** The `webhook-id`, the same for every attempt and replay: the body's `id`. */
export function webhookIdOf(eventId: string): string {
  return toTypedId("evt", eventId);
}
