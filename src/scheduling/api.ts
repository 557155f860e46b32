/** The public API of the scheduling feature. Other modules import only from here. */
export { listTasks } from "./list.ts";
export { createBackend } from "./repository.ts";
export { createScheduler, type Scheduler } from "./scheduler.ts";
export {
  createStepScheduler,
  createWakeUpScheduler,
  mailHandlers,
  notificationHandlers,
  requestLogHandlers,
  testRunHandlers,
  webhookHandlers,
  type WebhookWork,
} from "./worker-tasks.ts";
