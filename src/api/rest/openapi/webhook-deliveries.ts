/** OpenAPI operations of the delivery log. */
import { z } from "zod";
import { MALFORMED_CURSOR } from "../parameters.ts";
import {
  deliveryDetailSchema,
  deliveryListSchema,
  deliveryParameters,
  deliverySchema,
} from "../webhooks.schema.ts";
import { inQuery, invalidExample, malformedIdempotencyKey } from "./error-examples.ts";
import { idempotencyKeyHeader } from "./headers.ts";
import { operation } from "./operation.ts";
import { exampleCursor, exampleDelivery, exampleDeliveryDetail, exampleReplay } from "./webhook-examples.ts";

const tag = "Webhooks";
const scopes = ["webhooks:manage"] as const;
const onePath = "/webhook-deliveries/{id}";

const params = z.object({
  id: z.string().meta({ description: "Delivery ID (`dlv_…`).", examples: [exampleDelivery.id] }),
});

const listWebhookDeliveries = operation({
  method: "get",
  path: "/webhook-deliveries",
  operationId: "listWebhookDeliveries",
  summary: "List webhook deliveries",
  description: `The delivery log of the key's organization, newest first, back to the retention time of the service. A
delivery must match all given filters.

Pass \`pagination.next_cursor\` as \`cursor\` to read the next page. With the \`cursor\` of a replay, the list contains only
the deliveries of that replay.`,
  tag,
  scopes,
  request: { query: deliveryParameters },
  success: {
    description: "A page of deliveries.",
    name: "WebhookDeliveryListEnvelope",
    data: deliveryListSchema,
    examples: {
      "A page with further pages": {
        items: [exampleDelivery],
        pagination: { page_size: 1, next_cursor: exampleCursor },
      },
      "No deliveries": { items: [], pagination: { page_size: 10, next_cursor: null } },
    },
    headers: ["Link"],
  },
  malformed: [
    invalidExample("An unknown status and a cursor of another list", [
      inQuery("status", "invalid_value", "must be one of pending, delivered, failed, discarded"),
      inQuery("cursor", "invalid_value", MALFORMED_CURSOR),
    ]),
  ],
  errors: ["NotFoundException"],
});

const getWebhookDelivery = operation({
  method: "get",
  path: onePath,
  operationId: "getWebhookDelivery",
  summary: "Get one webhook delivery",
  description:
    "The delivery with its attempts. `request_body` is null if the key lacks the scope `jobs:read`, because the body contains the job.",
  tag,
  scopes,
  request: { params },
  success: {
    description: "The delivery and its attempts.",
    name: "WebhookDeliveryDetailEnvelope",
    data: deliveryDetailSchema,
    examples: { "A delivery with one attempt": exampleDeliveryDetail },
  },
  errors: ["NotFoundException"],
});

const replayWebhookDelivery = operation({
  method: "post",
  path: `${onePath}/replay`,
  operationId: "replayWebhookDelivery",
  summary: "Replay one event",
  description: `Creates another delivery of the same event to the same endpoint, with the same \`webhook-id\` and ten new
attempts. If the original is pending, it is discarded.

Returns 409 if the delivery is in flight, is a test event, or its endpoint was deleted.`,
  tag,
  scopes,
  request: { params, headers: z.object({ "Idempotency-Key": idempotencyKeyHeader }) },
  success: {
    status: 201,
    description: "The new delivery.",
    name: "WebhookDeliveryEnvelope",
    data: deliverySchema,
    examples: { "The new delivery": exampleReplay },
    headers: ["Idempotency-Replayed"],
  },
  malformed: malformedIdempotencyKey,
  errors: ["NotFoundException", "ConflictException", "UnprocessableEntityException"],
});

export const webhookDeliveryOperations = [listWebhookDeliveries, getWebhookDelivery, replayWebhookDelivery];
