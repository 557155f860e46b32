/** The webhooks: the body is the feed's event, the headers and the signature are those of Standard Webhooks. */
import type { RouteConfig } from "@asteasolutions/zod-to-openapi";
import { z } from "zod";
import { type EventType, eventTypes } from "../../../events/api.ts";
import { TEST_EVENT_TYPE, type TestEventWire } from "../../../webhooks/api.ts";
import { exampleEvents, exampleTestEvent } from "./examples.ts";
import { extensibleEnum } from "../errors.schema.ts";
import { apiVersionSchema, eventSchema } from "../responses.schema.ts";

const headers = z.object({
  "webhook-id": z.string().meta({
    description: "Id of the event, the same on every try: a receiver knows a repeat by it.",
    examples: ["evt_01KAJQZ4T3C6Y1GKD8B5RVXE2H"],
  }),
  "webhook-timestamp": z
    .string()
    .regex(/^\d+$/)
    .meta({
      description: "When this try was made, in seconds since 1970. Refuse what is older than five minutes.",
      examples: ["1795252542"],
    }),
  "webhook-signature": z.string().meta({
    description:
      "`v1,` and the base64 of the HMAC-SHA256 of `id.timestamp.body` under the endpoint's secret; several, parted " +
      "by spaces, for 24 hours after a rotation of the secret.",
    examples: ["v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4="],
  }),
  "webhook-redelivery": extensibleEnum(
    ["restore"],
    "Usually absent. `restore`: we restored a backup and may already have sent this event",
  ).optional(),
});

const eventDescriptions: Record<EventType, { summary: string; description: string }> = {
  "job.created": { summary: "A job was created", description: "A job came to be, and is visible to you." },
  "job.updated": {
    summary: "A job was updated",
    description: "Fields of a job changed, its status not among them.",
  },
  "job.status_changed": {
    summary: "A job changed status",
    description: "The status of a job changed, with whatever changed beside it.",
  },
  "job.assigned": { summary: "A job was assigned", description: "A job became visible to a contractor." },
};

const DELIVERY_NOTE = `At least once: a repeat has the same \`webhook-id\`, and \`data.sequence\` tells the order of a job's events.
\`GET /v1/events\` carries the same body, to catch up.`;

const testEventSchema = z
  .object({
    id: z
      .string()
      .regex(/^evt_[0-9A-HJKMNP-TV-Z]{26}$/)
      .meta({ description: "Id of the event, as in `webhook-id`", examples: [exampleTestEvent.id] }),
    type: z
      .literal(TEST_EVENT_TYPE)
      .meta({ type: "string", description: `Always \`${TEST_EVENT_TYPE}\``, examples: [TEST_EVENT_TYPE] }),
    api_version: apiVersionSchema,
    timestamp: z.iso
      .datetime({ precision: 3 })
      .meta({ description: "When it was asked for", examples: [exampleTestEvent.timestamp] }),
    data: z.object({
      message: z.string().meta({ description: "For people", examples: [exampleTestEvent.data.message] }),
      endpoint_id: z
        .string()
        .regex(/^whe_[0-9A-HJKMNP-TV-Z]{26}$/)
        .meta({
          description: "The endpoint that is tried out",
          examples: [exampleTestEvent.data.endpoint_id],
        }),
    }),
  })
  .meta({
    id: "WebhookTestEvent",
    description: "What an endpoint is sent when its owner tries it out.",
  }) satisfies z.ZodType<TestEventWire>;

const responses = {
  "2XX": {
    description: "Received. Answer within 15 seconds; the log keeps the first 4 KiB of the answer's body.",
  },
  410: { description: "The endpoint is gone: it is disabled at once." },
  default: {
    description:
      "Anything else, a redirect included, is a failure, and the event is sent again later. `Retry-After` on 429 and " +
      "503 is honoured, up to 24 hours.",
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
    tags: ["Webhooks"],
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

/** One for each type of event, by its type, and the test event. */
export const webhooks: readonly RouteConfig[] = [
  ...eventTypes.map((type) =>
    webhook(type, {
      summary: eventDescriptions[type].summary,
      description: `${eventDescriptions[type].description}\n\n${DELIVERY_NOTE}`,
      schema: eventSchema,
      example: exampleEvents[type],
    }),
  ),
  webhook(TEST_EVENT_TYPE, {
    summary: "An endpoint is tried out",
    description:
      "Sent once, when its owner asks for it, whatever the endpoint is subscribed to. Its outcome is shown at once, and " +
      "it is not sent again. On this event 410 disables nothing.",
    schema: testEventSchema,
    example: exampleTestEvent,
  }),
];
