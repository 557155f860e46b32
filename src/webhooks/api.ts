/** The public API of the webhooks feature. Other modules import only from here. */
export {
  attemptsByDelivery,
  requestBodiesOf,
  findAttemptsById,
  findDeliveriesById,
  lastAttempts,
  newestAttempts,
} from "./deliveries/log-lookups.sql.ts";
export { countDeliveries, type EndpointHealth } from "./deliveries/health.sql.ts";
export { ensurePartitions } from "./deliveries/weekly-partitions.sql.ts";
export { type DeliveryDetail, readDeliveryCursor } from "./deliveries/log-pages.sql.ts";
export { deleteTestDeliveries } from "./deliveries/delete-test-deliveries.sql.ts";
export { deliverSampleEvent } from "./deliveries/sample-event.sql.ts";
export { flagPending } from "./deliveries/flag-after-restore.sql.ts";
export { countWorkers } from "./deliveries/queue-stats.sql.ts";
export type { ReplaySelection } from "./deliveries/service.ts";
export type { PingWire } from "./deliveries/ping.sql.ts";
export {
  type AttemptView,
  deliveryStatuses,
  type DeliveryView,
  deliveryView,
  PING_TYPE,
} from "./deliveries/view.ts";
export { DELIVERIES_CHANNEL, startWebhookWorker, type WebhookWorker } from "./dispatcher/dispatcher.ts";
export { type AlertNotifier, createAlertNotifier } from "./endpoints/alerts.ts";
export { WebhookEndpoint } from "./endpoints/entity.ts";
export { MAX_ENDPOINTS, type PendingPolicy } from "./endpoints/service.ts";
export type { EndpointView } from "./endpoints/view.ts";
export { retryPolicies } from "./retry-policy.ts";
export { unreadableEndpoints } from "./signing/unreadable-secrets.sql.ts";
export { createSecretReveal } from "./signing/secret-reveal.ts";
export { systemPrincipal } from "./webhook-principal.ts";
export { openWebhooks, type Webhooks } from "./service.ts";
