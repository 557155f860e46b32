/** What your program does with an event. This is the file to change. */
import { type Event, isJobEvent, type WebhookEvent } from "@waymark/client";

/**
 * Throw an error to be called again later; events of other jobs go on meanwhile. After a crash it can be called twice for the
 * same event, so let your database decide: store the job with `data.sequence`, and only over a lower one.
 */
export async function handleEvent(event: WebhookEvent): Promise<void> {
  if (isJobEvent(event)) {
    const { job, sequence } = event.data;
    console.log("Handled", event.type, job.marking_number, job.normalized_status, `version ${sequence}`);
  } else if (event.type === "job.unassigned" || event.type === "job.deleted") {
    const { job } = event.data as Event["data"];
    console.log("Handled", event.type, job.marking_number, "You can no longer see it");
  }
  // Waymark adds types. Ignore those that you don't know.
}
