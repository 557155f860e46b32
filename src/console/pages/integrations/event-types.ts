/** The types of events, as webhooks write them. */
import type { JobEventType } from "../../generated/webhook-endpoints.ts";
import type { WebhookEventType } from "../../generated/webhook-deliveries.ts";

/** `JOB_STATUS_CHANGED` is `job.status_changed`. */
export function eventTypeCode(type: WebhookEventType | JobEventType): string {
  return type.toLowerCase().replace("_", ".");
}

export const jobEventTypes: readonly { type: JobEventType; meaning: string }[] = [
  { type: "JOB_CREATED", meaning: "A job came to be." },
  { type: "JOB_ASSIGNED", meaning: "A job was given to a contractor, or to another one." },
  { type: "JOB_STATUS_CHANGED", meaning: "The status changed, with whatever changed beside it." },
  { type: "JOB_UPDATED", meaning: "Anything else changed." },
];

export const webhookEventTypes = [
  "JOB_CREATED",
  "JOB_ASSIGNED",
  "JOB_STATUS_CHANGED",
  "JOB_UPDATED",
  "WEBHOOK_TEST",
] as const satisfies readonly WebhookEventType[];
