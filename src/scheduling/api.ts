/** The public API of the scheduling feature. Other modules import only from here. */
export { listTasks } from "./list.ts";
export { createBackend } from "./repository.ts";
export { Scheduler } from "./scheduler.ts";
export { scheduleStep, scheduleWakeUp, workerHandlers, type WebhookWork } from "./worker-tasks.ts";
