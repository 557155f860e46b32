/** OpenAPI descriptions of webhooks: the bodies of the events feed, with Standard Webhooks headers and signatures. */
import type { RouteConfig } from "@asteasolutions/zod-to-openapi";
import { z } from "zod";
import {
  API_VERSION,
  apiVersionSchema,
  eventSchema,
  exampleEvents,
  type EventType,
  eventTypes,
} from "../../../events/api.ts";
import { PING_TYPE, type PingWire } from "../../../webhooks/api.ts";
import { dateTime, extensibleEnum, idSchema } from "../../../operations/schemas.ts";

const headers = z.object({
  "webhook-id": z.string().meta({
    description: "Event ID, the same in every attempt. Use it to detect duplicates.",
    examples: ["evt_01KAJQZ4T3C6Y1GKD8B5RVXE2H"],
  }),
  "webhook-timestamp": z
    .string()
    .regex(/^\d+$/)
    .meta({
      description: "Time of this attempt, in seconds since 1970. Reject requests older than five minutes.",
      examples: ["1795252542"],
    }),
  "webhook-signature": z.string().meta({
    description:
      "`v1,` and the base64 of the HMAC-SHA256 of `id.timestamp.body` with the endpoint's secret. For 24 hours after the " +
      "secret is rotated: several signatures, separated by spaces.",
    examples: ["v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4="],
  }),
  "webhook-redelivery": extensibleEnum(
    ["restore"],
    "Usually absent. `restore`: we restored a backup and may already have sent this event",
  ).optional(),
});

const eventDescriptions: Record<EventType, { summary: string; description: string }> = {
  "job.created": { summary: "A job was created", description: "A job that is visible to you was created." },
  "job.updated": {
    summary: "A job was updated",
    description: "Fields of a job changed, but not its status.",
  },
  "job.status_changed": {
    summary: "A job changed status",
    description: "The status of a job changed. Other fields may have changed in the same update.",
  },
  "job.assigned": {
    summary: "A job was assigned",
    description: "A job was assigned to a contractor, who can now see it.",
  },
  "job.unassigned": {
    summary: "A job was taken from you",
    description: "You are no longer the contractor of a job, and can no longer see it.",
  },
  "job.deleted": { summary: "A job was deleted", description: "A job that was visible to you was deleted." },
};

const DELIVERY_NOTE = `Delivery is at least once. Duplicates have the same \`webhook-id\`; \`data.sequence\` is the order of a job's events.
\`GET /v1/events\` returns the same bodies, to catch up.`;

/** A test event; it contains no job. */
const examplePing: PingWire = {
  id: "evt_01KAJR5M7Q2X8D4FW6ZB9TC3NH",
  type: "webhook.test",
  api_version: API_VERSION,
  timestamp: "2026-11-21T09:21:05.911Z",
  data: {
    message: "This is a test event without a job. Respond with any 2xx status.",
    endpoint_id: "whe_01KAJQ8V5N3R7T1YC6GK2D9XWE",
  },
};

const testEventSchema = z
  .object({
    id: idSchema("evt", "Event ID, as in `webhook-id`", examplePing.id),
    type: z
      .literal(PING_TYPE)
      .meta({ type: "string", description: `Always \`${PING_TYPE}\``, examples: [PING_TYPE] }),
    api_version: apiVersionSchema,
    timestamp: dateTime("Time at which the test was requested", examplePing.timestamp),
    data: z.object({
      message: z.string().meta({ description: "Message for people", examples: [examplePing.data.message] }),
      endpoint_id: idSchema("whe", "Endpoint under test", examplePing.data.endpoint_id),
    }),
  })
  .meta({
    id: "WebhookTestEvent",
    description: "The event sent when the owner of an endpoint tests it.",
  }) satisfies z.ZodType<PingWire>;

const responses = {
  "2XX": {
    description: "Received. Respond within 15 seconds; the log stores the first 4 KiB of the response body.",
  },
  410: { description: "The endpoint no longer exists. Waymark disables it immediately." },
  default: {
    description:
      "Any other response, including a redirect, is a failure, and the event is retried later. `Retry-After` of 429 and " +
      "503 responses is respected, up to 24 hours.",
  },
};

interface WebhookSpec {
  summary: string;
  description: string;
  schema: z.ZodType;
  example: object;
}

function webhook(type: string, { summary, description, schema, example }: WebhookSpec): RouteConfig {
  return {
    method: "post",
    path: type,
    operationId: `on${type.replaceAll(/(?:^|[._])(\w)/g, (_, letter: string) => letter.toUpperCase())}`,
    summary,
    description,
    // Generators that don't support webhooks put broken code into the module of their tag.
    tags: ["Webhook events"],
    security: [],
    request: {
      headers,
      body: {
        required: true,
        content: { "application/json": { schema, examples: { [type]: { summary, value: example } } } },
      },
    },
    responses,
  };
}

/** One webhook per event type, and the test event. */
export const webhooks: readonly RouteConfig[] = [
  ...eventTypes.map((type) =>
    webhook(type, {
      summary: eventDescriptions[type].summary,
      description: `${eventDescriptions[type].description}\n\n${DELIVERY_NOTE}`,
      schema: eventSchema,
      example: exampleEvents[type],
    }),
  ),
  webhook(PING_TYPE, {
    summary: "An endpoint is tested",
    description:
      "Sent once when the owner of the endpoint requests a test, regardless of the endpoint's event types. It is not " +
      "retried, and a 410 response does not disable the endpoint.",
    schema: testEventSchema,
    example: examplePing,
  }),
];
