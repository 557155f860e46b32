/** OpenAPI operations of webhook endpoints. */
import { z } from "zod";
import { PENDING_COUNT_LIMIT } from "../../../webhooks/api.ts";
import { endpointPatchBody, newEndpointBody } from "../webhooks.bodies.ts";
import {
  deletedEndpointSchema,
  endpointListSchema,
  endpointSchema,
  endpointWithSecretSchema,
} from "../webhooks.schema.ts";
import { inBody, invalidExample } from "./error-examples.ts";
import { rateLimitHeaders, secretIdempotencyKeyHeader } from "./headers.ts";
import { changeErrors, jsonBody, operation, ownLimit } from "./operation.ts";
import { exampleEndpoint, exampleSecret } from "./webhook-examples.ts";

const tag = "Webhooks";
const scopes = ["webhooks:manage"] as const;
const onePath = "/webhook-endpoints/{id}";

export const endpointPath = z.object({
  id: z.string().meta({ description: "Endpoint ID (`whe_…`).", examples: [exampleEndpoint.id] }),
});
export const bodyErrors = ["PayloadTooLargeException", "UnsupportedMediaTypeException"] as const;

const malformedSettings = [
  invalidExample("A private IP address and an unknown event type", [
    inBody("url", "invalid_value", "must be a public server; 10.0.0.5 is a private IP address"),
    inBody("event_types[0]", "invalid_value", 'must be "job.created", or another of the known types'),
  ]),
  invalidExample("An unknown member", [
    inBody("eventTypes", "unknown_member", "is not a known member; did you mean event_types?"),
  ]),
];

const urlCheckLimit = ownLimit(
  "the server checks 5 URLs of the organization at this moment",
  "5 URL checks of this organisation are in flight, which is the limit. Try again in 5 s.",
);

const urlNeedsScope = {
  ForbiddenException: {
    description:
      "The key lacks `webhooks:manage`, or `jobs:read` to set `url`, or the request may not use it.",
    examples: [{ summary: "A new URL", message: "The API key lacks the scope jobs:read" }],
    headers: rateLimitHeaders,
  },
};

const listWebhookEndpoints = operation({
  method: "get",
  path: "/webhook-endpoints",
  operationId: "listWebhookEndpoints",
  summary: "List webhook endpoints",
  description:
    "All endpoints of the key's organization, oldest first. The list has no pages, because an organization has at most 50.",
  tag,
  scopes,
  success: {
    description: "The endpoints.",
    name: "WebhookEndpointListEnvelope",
    data: endpointListSchema,
    examples: { "One endpoint": { items: [exampleEndpoint] } },
  },
});

const createWebhookEndpoint = operation({
  method: "post",
  path: "/webhook-endpoints",
  operationId: "createWebhookEndpoint",
  summary: "Create a webhook endpoint",
  description: `Creates an endpoint that receives the events of the organization's jobs, and returns its signing secret. Store
the secret: no other operation returns it. If it is lost, rotate it.

The scope \`jobs:read\` is required because whole jobs are sent to the URL. An organization can have at most 50 endpoints, a test organization 5;
another one returns 409.`,
  tag,
  scopes: [...scopes, "jobs:read"],
  request: {
    headers: z.object({ "Idempotency-Key": secretIdempotencyKeyHeader }),
    body: jsonBody("The settings of the endpoint. Only `url` is required.", newEndpointBody, {
      all: { summary: "All events", value: { url: exampleEndpoint.url } },
      some: {
        summary: "Two event types, with a header for a gateway",
        value: {
          url: exampleEndpoint.url,
          description: exampleEndpoint.description,
          event_types: exampleEndpoint.event_types,
          headers: [{ name: "X-Api-Key", value: "k-49021" }],
        },
      },
    }),
  },
  success: {
    status: 201,
    description: "The endpoint and its signing secret.",
    name: "WebhookEndpointWithSecretEnvelope",
    data: endpointWithSecretSchema,
    examples: { "The endpoint": { endpoint: exampleEndpoint, secret: exampleSecret } },
    headers: ["Idempotency-Replayed"],
  },
  malformed: malformedSettings,
  errors: changeErrors,
  ownErrors: urlCheckLimit,
});

const getWebhookEndpoint = operation({
  method: "get",
  path: onePath,
  operationId: "getWebhookEndpoint",
  summary: "Get one webhook endpoint",
  description: `The settings and the state of the endpoint. \`pending\` counts up to ${PENDING_COUNT_LIMIT.toLocaleString("en")}.`,
  tag,
  scopes,
  request: { params: endpointPath },
  success: {
    description: "The endpoint.",
    name: "WebhookEndpointEnvelope",
    data: endpointSchema,
    examples: { "The endpoint": exampleEndpoint },
  },
  errors: ["NotFoundException"],
});

const updateWebhookEndpoint = operation({
  method: "patch",
  path: onePath,
  operationId: "updateWebhookEndpoint",
  summary: "Update a webhook endpoint",
  description: `Changes the given settings. Absent settings stay as they are. Null clears \`description\`, selects all types for
\`event_types\`, and removes all \`headers\`; for other settings null returns 400. \`headers\` replaces all custom headers.

Setting \`url\` also requires the scope \`jobs:read\`, because whole jobs are sent to it.`,
  tag,
  scopes,
  request: {
    params: endpointPath,
    body: jsonBody("The settings to change.", endpointPatchBody, {
      types: { summary: "Only one event type", value: { event_types: ["job.status_changed"] } },
      cleared: { summary: "All event types, no custom headers", value: { event_types: null, headers: null } },
    }),
  },
  success: {
    description: "The current endpoint.",
    name: "WebhookEndpointEnvelope",
    data: endpointSchema,
    examples: { "The endpoint": exampleEndpoint },
  },
  malformed: malformedSettings,
  errors: ["NotFoundException", ...bodyErrors],
  ownErrors: { ...urlCheckLimit, ...urlNeedsScope },
});

const deleteWebhookEndpoint = operation({
  method: "delete",
  path: onePath,
  operationId: "deleteWebhookEndpoint",
  summary: "Delete a webhook endpoint",
  description:
    "Deletes the endpoint and discards its pending deliveries. Its delivery log remains for the retention time.",
  tag,
  scopes,
  request: { params: endpointPath },
  success: {
    description: "The endpoint was deleted.",
    name: "DeletedWebhookEndpointEnvelope",
    data: deletedEndpointSchema,
    examples: { "No delivery was pending": { deleted_id: exampleEndpoint.id, discarded: 0 } },
  },
  errors: ["NotFoundException"],
});

export const webhookEndpointOperations = [
  listWebhookEndpoints,
  createWebhookEndpoint,
  getWebhookEndpoint,
  updateWebhookEndpoint,
  deleteWebhookEndpoint,
];
