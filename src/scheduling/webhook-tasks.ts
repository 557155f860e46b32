/** The tasks behind webhooks. Their handlers only poke: what is due, and who may send it, PostgreSQL says. */
import { z } from "zod";
import { fromTypedId } from "../platform/ids.ts";
import type { Scheduler } from "./scheduler.ts";
import { defineTask, taskHandler, noPayload, recurringHandler, type TaskHandler } from "./task.ts";

/** What the composition root gives to be poked. */
export interface WebhookWork {
  /** Deliveries of this endpoint have fallen due; another process may have asked to be told. */
  enqueueDue(endpointId: string): void;
  /** Finds whatever is due or whose lease ran out, whoever forgot it. */
  sweep(): Promise<void>;
  disableFailing(): Promise<void>;
  /** Removes what is past its retention. */
  purgeExpired(): Promise<void>;
}

export interface WakeUpScheduler {
  /** Has `fallDue` called for this endpoint (its uuid, or typed id) at that time, rounded up to the second. */
  readonly scheduleWakeUp: (endpointId: string, atMs: number) => void;
}

const SECOND_MS = 1_000;
const SWEEP_INTERVAL_MS = 5 * SECOND_MS;
const DISABLE_INTERVAL_MS = 5 * 60 * SECOND_MS;
const PURGE_INTERVAL_MS = 60 * 60 * SECOND_MS;

const endpointId = z.union([z.uuid(), z.string().refine((id) => fromTypedId("whe", id) !== null)]);

/** The second is the time it is for, since 1970, and makes the job a new one: to one that runs already nothing is added. */
const retryTask = defineTask("webhooks.retry", z.strictObject({ endpointId, second: z.int() }));
const sweepTask = defineTask("webhooks.sweep", noPayload);
const disableTask = defineTask("webhooks.disable", noPayload);
const purgeTask = defineTask("webhooks.retention", noPayload);

export function webhookHandlers(work: WebhookWork): TaskHandler[] {
  return [
    taskHandler(retryTask, ({ endpointId: id }) => work.enqueueDue(id)),
    // One that hangs here is soon another process's.
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
      // Never for a second that has begun: its job may be running.
      const second = Math.ceil(Math.max(atMs, Date.now()) / SECOND_MS);
      scheduler.schedule(retryTask, { endpointId: id, second }, new Date(second * SECOND_MS));
    },
  };
}
