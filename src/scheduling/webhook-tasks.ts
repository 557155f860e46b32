/** Tasks for webhooks. They only trigger work; PostgreSQL decides which deliveries are due and which process sends them. */
import { z } from "zod";
import { fromTypedId } from "../platform/ids.ts";
import type { Scheduler } from "./scheduler.ts";
import { defineTask, taskHandler, noPayload, recurringHandler, type TaskHandler } from "./task.ts";

/** Implemented by the webhooks feature. */
export interface WebhookWork {
  /** Deliveries of this endpoint are due. Any process may have scheduled the call. */
  enqueueDue(endpointId: string): void;
  /** Finds all deliveries that are due or whose lease has expired. */
  sweep(): Promise<void>;
  disableFailing(): Promise<void>;
  /** Deletes data past its retention. */
  purgeExpired(): Promise<void>;
}

export interface WakeUpScheduler {
  /** Schedules `enqueueDue` for this endpoint (UUID or typed id) at `atMs`, rounded up to the next second. */
  readonly scheduleWakeUp: (endpointId: string, atMs: number) => void;
}

const SECOND_MS = 1_000;
const SWEEP_INTERVAL_MS = 5 * SECOND_MS;
const DISABLE_INTERVAL_MS = 5 * 60 * SECOND_MS;
const PURGE_INTERVAL_MS = 60 * 60 * SECOND_MS;

const endpointId = z.union([z.uuid(), z.string().refine((id) => fromTypedId("whe", id) !== null)]);

/** `second` is the due time in seconds since 1970. It makes each run a separate task, because a running one ignores new runs. */
const retryTask = defineTask("webhooks.retry", z.strictObject({ endpointId, second: z.int() }));
const sweepTask = defineTask("webhooks.sweep", noPayload);
const disableTask = defineTask("webhooks.disable", noPayload);
const purgeTask = defineTask("webhooks.retention", noPayload);

export function webhookHandlers(work: WebhookWork): TaskHandler[] {
  return [
    taskHandler(retryTask, ({ endpointId: id }) => work.enqueueDue(id)),
    // After 30 s another process may take over a sweep that hangs.
    recurringHandler(sweepTask, SWEEP_INTERVAL_MS, () => work.sweep(), { maxRunMs: 30 * SECOND_MS }),
    recurringHandler(disableTask, DISABLE_INTERVAL_MS, () => work.disableFailing(), {
      maxRunMs: DISABLE_INTERVAL_MS,
    }),
    recurringHandler(purgeTask, PURGE_INTERVAL_MS, () => work.purgeExpired(), {
      maxRunMs: PURGE_INTERVAL_MS,
    }),
  ];
}

export function createWakeUpScheduler(scheduler: Pick<Scheduler, "schedule">): WakeUpScheduler {
  return {
    scheduleWakeUp(id, atMs) {
      // Never schedule for a second that has started: its task may be running.
      const second = Math.ceil(Math.max(atMs, Date.now()) / SECOND_MS);
      scheduler.schedule(retryTask, { endpointId: id, second }, new Date(second * SECOND_MS));
    },
  };
}
