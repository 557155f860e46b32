/** The operation that retries the waiting deliveries of an endpoint. */
import { z } from "zod";
import { restOperation } from "../../operations/operation.ts";
import { count } from "../../operations/schemas.ts";
import { change, endpointPath, exampleEndpoint } from "./operations.ts";
import type { EndpointService } from "./service.ts";
import { endpointView } from "./view.ts";

interface Services {
  readonly endpoints: EndpointService;
}

export const retryEndpoint = restOperation({
  ...change,
  once: {},
  name: "retryWebhookEndpoint",
  rest: { method: "post", path: "/webhook-endpoints/{id}/retry" },
  params: endpointPath,
  output: z
    .object({
      endpoint: endpointView,
      retried: count("Number of deliveries that waited for a retry and are due now", 12),
    })
    .meta({ id: "RetriedWebhookEndpoint" }),
  text: {
    tag: "Webhooks",
    summary: "Retry the deliveries of an endpoint now",
    description:
      "Makes all deliveries due that wait for a retry. They are sent within `max_in_flight` and `per_second`, and each uses up one of " +
      "its attempts, so this is possible once a minute. If the circuit is open, one delivery is sent now, and the others when it succeeds. An endpoint that is " +
      "paused or disabled returns 409: resume it.",
    result: {
      description: "The current endpoint, and how many deliveries are retried.",
      examples: { "Twelve deliveries": { endpoint: exampleEndpoint, retried: 12 } },
    },
    ownErrors: {
      TooManyRequestsException: {
        description: "The key's rate limit is reached, or the endpoint was retried within the last minute.",
        examples: [
          {
            summary: "A second time within a minute",
            message:
              "The deliveries of this endpoint were retried within the last minute. Try again in 42 s.",
          },
        ],
      },
      ConflictException: {
        description:
          "The endpoint is paused or disabled, or the first request with this Idempotency-Key is in progress.",
        examples: [
          {
            summary: "Paused",
            message: "The endpoint is paused, so nothing is sent to it. Resume it instead.",
          },
        ],
      },
    },
  },
  run: ({ endpoints }: Services, principal, { id }, { tx }) => endpoints.retry(principal, id, { tx }),
});
