/** OpenAPI operations that act on one webhook endpoint. */
import { z } from "zod";
import { replayBody, resumeBody } from "../webhooks.bodies.ts";
import {
  deliveryDetailSchema,
  endpointSchema,
  endpointWithSecretSchema,
  replayResultSchema,
  resumedEndpointSchema,
} from "../webhooks.schema.ts";
import { inBody, invalidExample, malformedIdempotencyKey } from "./error-examples.ts";
import { idempotencyKeyHeader, secretIdempotencyKeyHeader } from "./headers.ts";
import { changeErrors, jsonBody, operation, ownLimit } from "./operation.ts";
import { bodyErrors, endpointPath } from "./webhook-endpoints.ts";
import { exampleCursor, exampleDeliveryDetail, exampleEndpoint, exampleSecret } from "./webhook-examples.ts";

const tag = "Webhooks";
const scopes = ["webhooks:manage"] as const;
const onePath = "/webhook-endpoints/{id}";

const rotateWebhookSecret = operation({
  method: "post",
  path: `${onePath}/rotate-secret`,
  operationId: "rotateWebhookSecret",
  summary: "Rotate the signing secret",
  description:
    "Creates a new signing secret and returns it. For 24 hours requests are signed with both the new and the previous secret.",
  tag,
  scopes,
  request: { params: endpointPath, headers: z.object({ "Idempotency-Key": secretIdempotencyKeyHeader }) },
  success: {
    description: "The endpoint and its new signing secret.",
    name: "WebhookEndpointWithSecretEnvelope",
    data: endpointWithSecretSchema,
    examples: {
      "The endpoint": {
        endpoint: { ...exampleEndpoint, previous_secrets_expire_at: ["2026-11-22T09:00:12.405Z"] },
        secret: exampleSecret,
      },
    },
    headers: ["Idempotency-Replayed"],
  },
  malformed: malformedIdempotencyKey,
  errors: ["NotFoundException", "ConflictException", "UnprocessableEntityException"],
});

const pauseWebhookEndpoint = operation({
  method: "post",
  path: `${onePath}/pause`,
  operationId: "pauseWebhookEndpoint",
  summary: "Pause a webhook endpoint",
  description:
    "Puts the endpoint's deliveries on hold until it is resumed. Requests in flight are not stopped. A paused or disabled " +
    "endpoint stays as it is.",
  tag,
  scopes,
  request: { params: endpointPath },
  success: {
    description: "The current endpoint.",
    name: "WebhookEndpointEnvelope",
    data: endpointSchema,
    examples: { "The endpoint": { ...exampleEndpoint, status: "paused" } },
  },
  errors: ["NotFoundException"],
});

const resumeWebhookEndpoint = operation({
  method: "post",
  path: `${onePath}/resume`,
  operationId: "resumeWebhookEndpoint",
  summary: "Resume a webhook endpoint",
  description:
    "Resumes a paused or disabled endpoint and closes its circuit. The body says what happens to deliveries on hold; without a " +
    "body they are sent. An active endpoint stays active.",
  tag,
  scopes,
  request: {
    params: endpointPath,
    body: {
      ...jsonBody("What to do with deliveries on hold.", resumeBody, {
        send: { summary: "Send all", value: { pending: "send" } },
        since: {
          summary: "Send those of the last hours, discard older ones",
          value: { pending: "send", since: "2026-11-21T08:00:00Z" },
        },
        discard: { summary: "Discard all", value: { pending: "discard" } },
      }),
      required: false,
    },
  },
  success: {
    description: "The current endpoint, and how many deliveries were discarded.",
    name: "ResumedWebhookEndpointEnvelope",
    data: resumedEndpointSchema,
    examples: { "All deliveries on hold are sent": { endpoint: exampleEndpoint, discarded: 0 } },
  },
  malformed: [
    invalidExample("A time that does not fit", [
      inBody("since", "conflict", "is only allowed with pending: send"),
    ]),
  ],
  errors: ["NotFoundException", ...bodyErrors],
});

const sendTestEvent = operation({
  method: "post",
  path: `${onePath}/test`,
  operationId: "sendTestEvent",
  summary: "Send a test event",
  description: `Sends a test event to the endpoint, waits up to 15 seconds for the receiver's response and returns the delivery
with its single attempt. Check \`status\` and \`outcome\`: a receiver that fails still gives 201. Works at any status of the endpoint.

Returns 429 while 5 test events of the organization are in flight, and 409 if the endpoint's secrets cannot be read.`,
  tag,
  scopes,
  request: { params: endpointPath },
  success: {
    status: 201,
    description: "The delivery of the test event.",
    name: "WebhookDeliveryDetailEnvelope",
    data: deliveryDetailSchema,
    examples: {
      "The receiver returned 204": {
        ...exampleDeliveryDetail,
        event_type: "webhook.test",
        marking_number: null,
        origin: "test",
      },
    },
  },
  errors: ["NotFoundException", "ConflictException"],
  ownErrors: ownLimit(
    "5 test events of the organization are in flight",
    "5 test events of this organisation are in flight, which is the limit. Try again in 5 s.",
  ),
});

const replayWebhookDeliveries = operation({
  method: "post",
  path: `${onePath}/replay`,
  operationId: "replayWebhookDeliveries",
  summary: "Replay many events to an endpoint",
  description: `Creates new deliveries of events that failed or that the endpoint never had, and returns their number. Pass
\`cursor\` to \`GET /v1/webhook-deliveries\` to follow them.

Repeating the request replays nothing twice: an event whose replay is pending or delivered is left out. A request replays at most
50,000 events; repeat it, with another Idempotency-Key, while \`has_more\` is true. An organization can replay 200,000 deliveries
at once, then 1,000 per second; beyond that the response is 429. With an Idempotency-Key the replay is one transaction: an error
means that nothing was replayed.`,
  tag,
  scopes,
  request: {
    params: endpointPath,
    headers: z.object({ "Idempotency-Key": idempotencyKeyHeader }),
    body: jsonBody("Which events to replay.", replayBody, {
      failed: {
        summary: "What failed during an outage",
        value: { which: "failed", since: "2026-11-21T08:00:00Z", until: "2026-11-21T20:00:00Z" },
      },
      missing: { summary: "What a new endpoint never received", value: { which: "missing" } },
    }),
  },
  success: {
    description: "The number of new deliveries.",
    name: "WebhookReplayResultEnvelope",
    data: replayResultSchema,
    examples: {
      "Twelve deliveries": { replayed: 12, cursor: exampleCursor, has_more: false },
      "Nothing to replay": { replayed: 0, cursor: null, has_more: false },
    },
    headers: ["Idempotency-Replayed"],
  },
  malformed: [
    invalidExample("An empty time range", [inBody("until", "invalid_value", "must be after since")]),
  ],
  errors: ["NotFoundException", ...changeErrors],
  ownErrors: ownLimit(
    "2 replays of the organization are in flight, or it replayed as many deliveries as it can for now",
    "2 replays of this organisation are in flight, which is the limit. Try again in 5 s.",
  ),
});

export const webhookEndpointActions = [
  rotateWebhookSecret,
  pauseWebhookEndpoint,
  resumeWebhookEndpoint,
  sendTestEvent,
  replayWebhookDeliveries,
];
