/** The public API of the scheduling feature. Other modules import only from here. */
export { withMongoTimeout } from "./mongo-timeout.ts";
export { createScheduler, type Scheduler } from "./scheduler.ts";
export { TaskRepository } from "./task-repository.ts";
export {
  createStepScheduler,
  createWakeUpScheduler,
  mailHandlers,
  requestLogHandlers,
  testRunHandlers,
  webhookHandlers,
  type WebhookWork,
} from "./worker-tasks.ts";
