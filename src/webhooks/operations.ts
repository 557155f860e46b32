/** The operations of the webhooks feature. */
import type { Operation } from "../operations/operation.ts";
import type { DeliveryService } from "./deliveries/service.ts";
import type { EndpointService } from "./endpoints/service.ts";
import { deliveryOperations, endpointDeliveryOperations } from "./deliveries/operations.ts";
import { endpointOperations } from "./endpoints/operations.ts";

export { exampleDelivery } from "./deliveries/operations.ts";

interface Services {
  readonly endpoints: EndpointService;
  readonly deliveries: DeliveryService;
}

export const webhookOperations: readonly Operation<Services>[] = [
  ...endpointOperations,
  ...endpointDeliveryOperations,
  ...deliveryOperations,
];
