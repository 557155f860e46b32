/** The operation that lists the newest attempts of an endpoint. */
import { z } from "zod";
import { restOperation } from "../../operations/operation.ts";
import { endpointPath, read } from "../endpoints/operations.ts";
import type { DeliveryService } from "./service.ts";
import { type AttemptView, endpointAttemptView } from "./view.ts";

interface Services {
  readonly deliveries: DeliveryService;
}

export const exampleAttempt: AttemptView = {
  id: "att_01KAJQZ4TB9D3F6J8M1P4S7VYA",
  number: 1,
  startedAt: "2026-11-21T09:15:42.344Z",
  durationMs: 84,
  outcome: "delivered",
  httpStatus: 204,
  error: null,
  requestHeaders: [
    { name: "webhook-id", value: "evt_01KAJQZ4T3C6Y1GKD8B5RVXE2H" },
    { name: "X-Api-Key", value: "********" },
  ],
  responseHeaders: [{ name: "date", value: "Sat, 21 Nov 2026 09:15:42 GMT" }],
  responseBody: "",
};

export const listAttempts = restOperation({
  ...read,
  name: "listWebhookEndpointAttempts",
  rest: { method: "get", path: "/webhook-endpoints/{id}/attempts" },
  params: endpointPath,
  output: z
    .object({ items: z.array(endpointAttemptView).meta({ description: "The attempts, newest first" }) })
    .meta({ id: "WebhookEndpointAttemptList" }),
  text: {
    tag: "Webhooks",
    summary: "List the newest attempts of an endpoint",
    description:
      "The newest 20 requests to the endpoint, of its newest 100 finished deliveries and of 100 that will be retried. A delivery has the headers and bodies.",
    result: {
      description: "The attempts.",
      examples: {
        "One attempt": { items: [{ ...exampleAttempt, deliveryId: "dlv_01KAJQZ4T8M2N6R0V4Y7C1F5HK" }] },
      },
    },
  },
  run: async ({ deliveries }: Services, principal, { id }) => ({
    items: await deliveries.attempts(principal, id),
  }),
});
