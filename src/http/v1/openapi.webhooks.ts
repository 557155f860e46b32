/** The webhooks: the body is the feed's event, the headers and the signature are those of Standard Webhooks. */
import type { RouteConfig } from "@asteasolutions/zod-to-openapi";
import { z } from "zod";
import { eventTypes, type EventType } from "../../events/event.entity.ts";
import { exampleEvents } from "./openapi.examples.ts";
import { eventSchema } from "./responses.schema.ts";

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
});

const texts: Record<EventType, { summary: string; description: string }> = {
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

const COMING = `Delivery by webhook comes with the webhook engine; until then \`GET /v1/events\` carries the same body.
At least once: a repeat has the same \`webhook-id\`, and \`data.sequence\` tells the order of a job's events.`;

/** One for each type of event, by its type. */
export const webhooks: readonly RouteConfig[] = eventTypes.map((type) => ({
  method: "post",
  path: type,
  operationId: `on${type.replaceAll(/(?:^|[._])(\w)/g, (_, letter: string) => letter.toUpperCase())}`,
  summary: texts[type].summary,
  description: `${texts[type].description}\n\n${COMING}`,
  tags: ["Webhooks"],
  security: [],
  request: {
    headers,
    body: {
      required: true,
      content: {
        "application/json": {
          schema: eventSchema,
          examples: { [type]: { summary: texts[type].summary, value: exampleEvents[type] } },
        },
      },
    },
  },
  responses: {
    "2XX": { description: "Received. Answer within 15 seconds; the body of the answer is not read." },
    410: { description: "The endpoint is gone: it is disabled at once." },
    default: {
      description: "Anything else, a redirect included, is a failure, and the event is sent again later.",
    },
  },
}));
