/** Takes events from the queue, one after the other: in order for each job, again after a failure. */
import { setTimeout as sleep } from "node:timers/promises";
import type { WebhookEvent } from "@waymark/client";
import { handleEvent } from "./handle-event.ts";
import type { Queue } from "./queue.ts";

const POLL_INTERVAL_MS = 200;

/** Runs until `signal` aborts. It finishes the event that it has begun. */
export async function runWorker(queue: Queue, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    if (!(await handleNext(queue))) await sleep(POLL_INTERVAL_MS, null, { signal }).catch(() => null);
  }
}

/** Returns false if there is nothing to do. */
async function handleNext(queue: Queue): Promise<boolean> {
  const event = queue.next();
  if (!event) return false;
  try {
    // Each event has the whole job, so an event that arrives after a newer one has nothing to add.
    if (event.isOutdated) console.log("Outdated", event.webhookId);
    else await handleEvent(JSON.parse(event.body) as WebhookEvent);
    queue.markDone(event);
  } catch (error) {
    const delayMs = queue.markFailed(event, String(error));
    const next = delayMs === null ? "Given up" : `Next attempt in ${delayMs / 1_000} s`;
    console.error("Failed", event.webhookId, error, next);
  }
  return true;
}
