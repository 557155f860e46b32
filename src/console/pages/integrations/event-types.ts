/** Event types and their codes in webhooks. */
import type { JobEventType } from "../../generated/webhook-endpoints.ts";
import type { WebhookEventType } from "../../generated/webhook-deliveries.ts";

/** `JOB_STATUS_CHANGED` becomes `job.status_changed`. */
export function eventTypeCode(type: WebhookEventType | JobEventType): string {
  return type.toLowerCase().replace("_", ".");
}

export const jobEventTypes: readonly { type: JobEventType; description: string }[] = [
  { type: "JOB_CREATED", description: "A job was created." },
  { type: "JOB_ASSIGNED", description: "A job was assigned to a contractor, or reassigned." },
  {
    type: "JOB_STATUS_CHANGED",
    description: "The status changed. Other fields may have changed in the same update.",
  },
  { type: "JOB_UPDATED", description: "Any other field changed." },
  { type: "JOB_UNASSIGNED", description: "You are no longer the contractor of a job." },
  { type: "JOB_DELETED", description: "A test job was deleted." },
];

export const webhookEventTypes = [
  "JOB_CREATED",
  "JOB_ASSIGNED",
  "JOB_STATUS_CHANGED",
  "JOB_UPDATED",
  "JOB_UNASSIGNED",
  "JOB_DELETED",
  "WEBHOOK_TEST",
] as const satisfies readonly WebhookEventType[];
