/** The operations of the webhooks feature. */
import { z } from "zod";
import { userRoles } from "../organizations/api.ts";
import { administrator, type Operation, operation, type RestOperation } from "../operations/operation.ts";
import type { DeliveryService } from "./deliveries/service.ts";
import type { EndpointService } from "./endpoints/service.ts";
import { deliveryOperations, endpointDeliveryOperations } from "./deliveries/operations.ts";
import { replaySelectedDeliveries } from "./deliveries/replay-selected.operations.ts";
import { endpointOperations, endpointPath, manage } from "./endpoints/operations.ts";
import { retryEndpoint } from "./endpoints/retry.operations.ts";
import type { SecretReveal } from "./signing/secret-reveal.ts";

export { exampleDelivery } from "./deliveries/operations.ts";

interface Services {
  readonly endpoints: EndpointService;
  readonly deliveries: DeliveryService;
}

export const webhookOperations: readonly RestOperation<Services>[] = [
  ...endpointOperations,
  retryEndpoint,
  ...endpointDeliveryOperations,
  // Before the path with an ID, which would match it.
  replaySelectedDeliveries,
  ...deliveryOperations,
];

const revealWebhookSecret = operation({
  name: "revealWebhookSecret",
  access: { ...manage, role: userRoles },
  // It needs the password instead.
  fresh: false,
  params: endpointPath,
  input: z.object({ password: z.string() }),
  run: ({ secrets }: { readonly secrets: SecretReveal }, user, request) => secrets.reveal(user, request),
});

/** The access of the root fields of GraphQL with hand-written resolvers. */
export const webhookAccess = {
  webhookEndpoints: manage,
  webhookEndpoint: manage,
  webhookDeliveries: manage,
  failingWebhookEndpoints: administrator,
};

export const secretOperations: readonly Operation<{ readonly secrets: SecretReveal }>[] = [
  revealWebhookSecret,
];
