/** The exports of this feature: other features and the adapters import only from here. */
export { Notification, NotificationSettings } from "./entity.ts";
export { createNotify, type NotificationMessage, type Notify } from "./notify.ts";
export { NotificationService } from "./settings.service.ts";
export { WebhookPoster } from "./webhook.ts";
export { NotificationWorker } from "./worker.ts";
