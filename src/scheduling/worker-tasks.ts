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

const stepTask = { name: "test-runs.step", payload: z.strictObject({ second: z.int() }) };

interface WorkerServices {
  readonly webhooks: WebhookWork;
  readonly mails: Pick<WebhookWork, "sweep" | "purgeExpired">;
  /** `sweep` sends what is due. `remind` reads the keys. */
  readonly notifications: { sweep(): Promise<void>; remind(): Promise<void> };
  readonly requestLog: Pick<WebhookWork, "purgeExpired">;
  /** Changes the test jobs whose next step is due. */
  readonly applyDueSteps: () => Promise<void>;
}

/** The sweeps find work whose task was lost, and work that another process failed to do. */
export function workerHandlers(services: WorkerServices): TaskHandler[] {
  const { webhooks, mails, notifications, requestLog, applyDueSteps } = services;
  return [
    taskHandler(retryTask, ({ endpointId: id }) => webhooks.enqueueDue(id)),
    recurringHandler("webhooks.sweep", 5 * SECOND_MS, () => webhooks.sweep()),
    recurringHandler("webhooks.disable", 5 * MINUTE_MS, () => webhooks.disableFailing("live")),
    recurringHandler("webhooks.disable-test", 10 * SECOND_MS, () => webhooks.disableFailing("test")),
    recurringHandler("webhooks.retention", HOUR_MS, () => webhooks.purgeExpired()),
    recurringHandler("mails.sweep", 20 * SECOND_MS, () => mails.sweep()),
    recurringHandler("mails.retention", HOUR_MS, () => mails.purgeExpired()),
    recurringHandler("notifications.sweep", 20 * SECOND_MS, () => notifications.sweep()),
    recurringHandler("notifications.remind", HOUR_MS, () => notifications.remind()),
    recurringHandler("requests.retention", HOUR_MS, () => requestLog.purgeExpired()),
    taskHandler(stepTask, applyDueSteps),
    recurringHandler("test-runs.sweep", 30 * SECOND_MS, applyDueSteps),
  ];
}

type TaskScheduler = Pick<Scheduler, "schedule">;

/** Schedules `applyDueSteps` at `atMs`, rounded up to the next second. */
export function scheduleStep(scheduler: TaskScheduler, atMs: number): void {
  const second = nextSecond(atMs);
  scheduler.schedule(stepTask, { second }, new Date(second * SECOND_MS));
}

/** Schedules `enqueueDue` for an endpoint (UUID or typed id) at `atMs`, rounded up to the next second. */
export function scheduleWakeUp(scheduler: TaskScheduler, id: string, atMs: number): void {
  const second = nextSecond(atMs);
  scheduler.schedule(retryTask, { endpointId: id, second }, new Date(second * SECOND_MS));
}

/** Returns a second since 1970 that has not started, because the task of an earlier one may be running. */
function nextSecond(atMs: number): number {
  return Math.ceil(Math.max(atMs, Date.now()) / SECOND_MS);
}
