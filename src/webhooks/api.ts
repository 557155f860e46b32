/** The public API of the webhooks feature. Other modules import only from here. */
export { DELIVERIES_CHANNEL } from "./deliveries/channel.ts";
export { attemptsByDelivery, findAttemptsById, findDeliveriesById } from "./deliveries/find-many.ts";
export { ensurePartitions } from "./deliveries/partitions.ts";
export { deliveryCursor, type DeliveryWithAttempts, readDeliveryCursor } from "./deliveries/queries.ts";
export { requestBodiesOf } from "./deliveries/request-bodies.ts";
export { flagPending, isWorkerRunning } from "./deliveries/restore.ts";
export type { DeliveryService } from "./deliveries/service.ts";
export { TEST_EVENT_TYPE, type TestEventWire } from "./deliveries/test-event.ts";
export {
  type AttemptView,
  type DeliveryStatus,
  deliveryStatuses,
  type DeliveryView,
} from "./deliveries/view.ts";
export type { Sender } from "./dispatcher/sender.ts";
export { startWebhookWorker, type WebhookWorker } from "./dispatcher/worker.ts";
export { createAlertNotifier } from "./endpoints/alert-mails.ts";
export type { AlertNotifier } from "./endpoints/alerts.ts";
export { WebhookEndpoint } from "./endpoints/entity.ts";
export type { PendingPolicy } from "./endpoints/lifecycle.ts";
export type { EndpointService } from "./endpoints/service.ts";
export type { EndpointSettings } from "./endpoints/validation.ts";
export { type EndpointView, PENDING_COUNT_LIMIT } from "./endpoints/view.ts";
export { latestSealedSecret, unreadableEndpoints } from "./signing/secret-check.ts";
export { createSecretReveal, type SecretReveal } from "./signing/secret-reveal.ts";
export { type Verification, verify } from "./signing/signature.ts";
export { systemPrincipal } from "./tenant-scope.ts";
export { openWebhooks, type Webhooks } from "./webhooks.service.ts";
