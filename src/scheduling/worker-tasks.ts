/** The tasks of a worker. They only trigger work; PostgreSQL decides what is due and which process does it. */
import { z } from "zod";
import { fromTypedId } from "../core/ids.ts";
import { HOUR_MS, MINUTE_MS, SECOND_MS } from "../core/time.ts";
import type { Scheduler } from "./scheduler.ts";
import { defineTask, taskHandler, noPayload, recurringHandler, type TaskHandler } from "./task.ts";

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
const retryTask = defineTask("webhooks.retry", z.strictObject({ endpointId, second: z.int() }));

export function webhookHandlers(work: WebhookWork): TaskHandler[] {
  return [
    taskHandler(retryTask, ({ endpointId: id }) => work.enqueueDue(id)),
    sweep("webhooks.sweep", 5 * SECOND_MS, () => work.sweep()),
    recurring("webhooks.disable", 5 * MINUTE_MS, () => work.disableFailing("live")),
    sweep("webhooks.disable-test", 10 * SECOND_MS, () => work.disableFailing("test")),
    recurring("webhooks.retention", HOUR_MS, () => work.purgeExpired()),
  ];
}

/** `sweep` sends all due mail, including mail that another process failed to send. */
export function mailHandlers(work: Pick<WebhookWork, "sweep" | "purgeExpired">): TaskHandler[] {
  return [
    sweep("mails.sweep", 10 * SECOND_MS, () => work.sweep()),
    recurring("mails.retention", HOUR_MS, () => work.purgeExpired()),
  ];
}

export function requestLogHandlers(work: Pick<WebhookWork, "purgeExpired">): TaskHandler[] {
  return [recurring("requests.retention", HOUR_MS, () => work.purgeExpired())];
}

function recurring(name: string, intervalMs: number, run: () => Promise<void>): TaskHandler {
  return recurringHandler(defineTask(name, noPayload), intervalMs, run, { maxRunMs: intervalMs });
}

/** After 30 s another process may take over a sweep that hangs, for example on a slow mail server. */
function sweep(name: string, intervalMs: number, run: () => Promise<void>): TaskHandler {
  return recurringHandler(defineTask(name, noPayload), intervalMs, run, { maxRunMs: 30 * SECOND_MS });
}

const stepTask = defineTask("test-runs.step", z.strictObject({ second: z.int() }));

/** `applyDueSteps` changes the test jobs whose next step is due. The sweep finds steps whose task was lost. */
export function testRunHandlers({ applyDueSteps }: { applyDueSteps: () => Promise<void> }): TaskHandler[] {
  return [taskHandler(stepTask, applyDueSteps), sweep("test-runs.sweep", 30 * SECOND_MS, applyDueSteps)];
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
