/** The public API of the scheduling feature. Other modules import only from here. */
export { mailHandlers } from "./mail-tasks.ts";
export { withMongoTimeout } from "./mongo-timeout.ts";
export { requestLogHandlers } from "./request-log-tasks.ts";
export { createScheduler } from "./scheduler.ts";
export { TaskRepository } from "./task-repository.ts";
export { createWakeUpScheduler, webhookHandlers, type WebhookWork } from "./webhook-tasks.ts";
