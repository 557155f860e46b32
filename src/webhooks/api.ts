/** The public API of the webhooks feature. Other modules import only from here. */
export { DELIVERIES_CHANNEL } from "./dispatcher/worker.ts";
export {
  attemptsByDelivery,
  findAttemptsById,
  findDeliveriesById,
  lastAttempts,
  newestAttempts,
} from "./deliveries/log-lookups.sql.ts";
export { countDeliveries, type EndpointHealth } from "./deliveries/health.sql.ts";
export { ensurePartitions } from "./deliveries/weekly-partitions.sql.ts";
export { type DeliveryDetail, readDeliveryCursor } from "./deliveries/log-pages.sql.ts";
export { deleteTestDeliveries } from "./deliveries/delete-test-deliveries.sql.ts";
export { deliverSampleEvent } from "./deliveries/sample-event.ts";
export { requestBodiesOf } from "./deliveries/log-lookups.sql.ts";
export { flagPending, isWorkerRunning } from "./deliveries/flag-after-restore.sql.ts";
export type { DeliveryService, ReplaySelection } from "./deliveries/service.ts";
export type { TestEventWire } from "./deliveries/test-event.ts";
export {
  type AttemptView,
  deliveryStatuses,
  type DeliveryView,
  deliveryView,
  TEST_EVENT_TYPE,
} from "./deliveries/view.ts";
export { startWebhookWorker, type WebhookWorker } from "./dispatcher/worker.ts";
export { createAlertNotifier } from "./endpoints/alerts.ts";
export type { AlertNotifier } from "./endpoints/alerts.ts";
export { WebhookEndpoint } from "./endpoints/entity.ts";
export type { PendingPolicy } from "./endpoints/service.ts";
export { type EndpointService, MAX_ENDPOINTS } from "./endpoints/service.ts";
export type { EndpointView } from "./endpoints/view.ts";
export { retryPolicies } from "./retry-policy.ts";
export { latestSealedSecret, unreadableEndpoints } from "./signing/unreadable-secrets.sql.ts";
export { createSecretReveal, type SecretReveal } from "./signing/secret-reveal.ts";
export { systemPrincipal } from "./webhook-principal.ts";
export { openWebhooks, type Webhooks } from "./service.ts";
