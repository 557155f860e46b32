/** The public API of the scheduling feature. Other modules import only from here. */
export { withMongoTimeout } from "./mongo-timeout.ts";
export { createScheduler } from "./scheduler.ts";
export { TaskRepository } from "./task-repository.ts";
export {
  createWakeUpScheduler,
  mailHandlers,
  requestLogHandlers,
  webhookHandlers,
  type WebhookWork,
} from "./worker-tasks.ts";
