/** The tasks of a worker. They only trigger work; PostgreSQL decides what is due and which process does it. */
import { z } from "zod";
import { fromTypedId } from "../core/ids.ts";
import { HOUR_MS, MINUTE_MS, SECOND_MS } from "../core/time.ts";
import type { Scheduler } from "./scheduler.ts";
import { taskHandler, recurringHandler, type TaskHandler } from "./task.ts";

/** Implemented by the webhooks feature. */
export interface WebhookWork {
  /** Deliveries of this endpoint are due. Any process may have scheduled the call. */
  enqueueDue(endpointId: string): void;
  /** Finds all deliveries that are due or whose lease has expired. */
  sweep(): Promise<void>;
  disableFailing(mode: "live" | "test"): Promise<void>;
  /** Deletes data past its retention. */
  purgeExpired(): Promise<void>;
}

const endpointId = z.union([z.uuid(), z.string().refine((id) => fromTypedId("whe", id) !== null)]);

/** `second` is the due time in seconds since 1970. It makes each run a separate task, because a running one ignores new runs. */
const retryTask = {
  name: "webhooks.retry",
  payload: z.strictObject({ endpointId, second: z.int() }),
};

export function webhookHandlers(work: WebhookWork): TaskHandler[] {
  return [
    taskHandler(retryTask, ({ endpointId: id }) => work.enqueueDue(id)),
    recurringHandler("webhooks.sweep", 5 * SECOND_MS, () => work.sweep()),
    recurringHandler("webhooks.disable", 5 * MINUTE_MS, () => work.disableFailing("live")),
    recurringHandler("webhooks.disable-test", 10 * SECOND_MS, () => work.disableFailing("test")),
    recurringHandler("webhooks.retention", HOUR_MS, () => work.purgeExpired()),
  ];
}

/** `sweep` sends all due mail, including mail that another process failed to send. */
export function mailHandlers(work: Pick<WebhookWork, "sweep" | "purgeExpired">): TaskHandler[] {
  return [
    recurringHandler("mails.sweep", 20 * SECOND_MS, () => work.sweep()),
    recurringHandler("mails.retention", HOUR_MS, () => work.purgeExpired()),
  ];
}

/** `sweep` sends what is due. `remind` reads the keys. */
export function notificationHandlers(work: {
  sweep: () => Promise<void>;
  remind: () => Promise<void>;
}): TaskHandler[] {
  return [
    recurringHandler("notifications.sweep", 20 * SECOND_MS, () => work.sweep()),
    recurringHandler("notifications.remind", HOUR_MS, () => work.remind()),
  ];
}

export function requestLogHandlers(work: Pick<WebhookWork, "purgeExpired">): TaskHandler[] {
  return [recurringHandler("requests.retention", HOUR_MS, () => work.purgeExpired())];
}

const stepTask = { name: "test-runs.step", payload: z.strictObject({ second: z.int() }) };

/** `applyDueSteps` changes the test jobs whose next step is due. The sweep finds steps whose task was lost. */
export function testRunHandlers({ applyDueSteps }: { applyDueSteps: () => Promise<void> }): TaskHandler[] {
  return [
    taskHandler(stepTask, applyDueSteps),
    recurringHandler("test-runs.sweep", 30 * SECOND_MS, applyDueSteps),
  ];
}

/** Returns a function that schedules `applyDueSteps` at `atMs`, rounded up to the next second. */
export function createStepScheduler(scheduler: Pick<Scheduler, "schedule">): (atMs: number) => void {
  return (atMs) => {
    const second = nextSecond(atMs);
    scheduler.schedule(stepTask, { second }, new Date(second * SECOND_MS));
  };
}

/** Returns a function that schedules `enqueueDue` for an endpoint (UUID or typed id) at `atMs`, rounded up to the next second. */
export function createWakeUpScheduler(
  scheduler: Pick<Scheduler, "schedule">,
): (endpointId: string, atMs: number) => void {
  return (id, atMs) => {
    const second = nextSecond(atMs);
    scheduler.schedule(retryTask, { endpointId: id, second }, new Date(second * SECOND_MS));
  };
}

/** Returns a second since 1970 that has not started, because the task of an earlier one may be running. */
function nextSecond(atMs: number): number {
  return Math.ceil(Math.max(atMs, Date.now()) / SECOND_MS);
}
