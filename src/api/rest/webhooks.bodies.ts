/** Bodies of the requests to the webhook routes, as zod: for the routes and for OpenAPI. The service validates the values. */
import { z } from "zod";
import { eventTypes } from "../../events/api.ts";
import { IN_FLIGHT_LIMITS, MAX_HEADERS, MAX_DESCRIPTION, RATE_LIMITS } from "../../webhooks/api.ts";
import { mustBe } from "./body.ts";
import { dateTimeParameter } from "./parameters.ts";

const text = z.string(mustBe("a string"));

const wholeNumber = ({ min, max }: { min: number; max: number }, description: string) => {
  return z
    .int(mustBe(`a whole number from ${min} to ${max}`))
    .meta({ minimum: min, maximum: max, description, examples: [min] });
};

const url = text.meta({
  minLength: 1,
  maxLength: 2_048,
  description: "An https URL whose host resolves to public IP addresses, unless the service allows others",
  examples: ["https://partner.example/webhooks"],
});
const description = text.meta({
  maxLength: MAX_DESCRIPTION,
  description: "Description, for your own use",
  examples: ["Dispatch board"],
});
const subscribedTypes = z
  .array(
    text.meta({ "x-extensible-enum": [...eventTypes], description: "An event type" }),
    mustBe("a list of event types, or null for all"),
  )
  .meta({ minItems: 1, description: "Event types to send. Null: all, including future types" });
const headers = z
  .array(
    z
      .object(
        {
          name: text.meta({ description: "Name; each name at most once", examples: ["X-Api-Key"] }),
          value: text.meta({
            description: "Value. It is stored encrypted and never returned",
            examples: ["k-49021"],
          }),
        },
        mustBe("an object with name and value"),
      )
      .meta({ id: "WebhookHeaderInput", description: "A custom header." }),
    mustBe("a list of headers"),
  )
  .meta({ maxItems: MAX_HEADERS, description: "Custom headers, sent with every request" });
const maxInFlight = wholeNumber(
  IN_FLIGHT_LIMITS,
  `Maximum number of concurrent requests; ${IN_FLIGHT_LIMITS.default} by default`,
);
const perSecond = wholeNumber(
  RATE_LIMITS,
  `Maximum number of requests per second; ${RATE_LIMITS.default} by default`,
);

/** Null is treated as absent. */
export const newEndpointBody = z
  .object({
    url,
    description: description.nullish(),
    event_types: subscribedTypes.nullish(),
    headers: headers.nullish(),
    max_in_flight: maxInFlight.nullish(),
    per_second: perSecond.nullish(),
  })
  .meta({ id: "WebhookEndpointInput", description: "A new webhook endpoint." });

/** Null clears a setting that can be empty. */
export const endpointPatchBody = z
  .object({
    url: url.optional(),
    description: description.nullish(),
    event_types: subscribedTypes.nullish(),
    headers: headers.nullish().meta({
      maxItems: MAX_HEADERS,
      description: "Replaces all custom headers. Null or an empty list removes them",
    }),
    max_in_flight: maxInFlight.optional(),
    per_second: perSecond.optional(),
  })
  .meta({
    id: "WebhookEndpointPatch",
    description: "The settings to change. Absent settings stay as they are; null clears a setting.",
  });

const time = (meaning: string, example: string) =>
  dateTimeParameter.optional().meta({ description: meaning, examples: [example] });

export const resumeBody = z
  .object({
    pending: z
      .enum(["send", "discard"], { error: "must be send or discard" })
      .default("send")
      .meta({
        type: "string",
        "x-extensible-enum": ["send", "discard"],
        description: "What to do with deliveries on hold: send them (the default), or discard them",
        examples: ["send"],
      }),
    since: time(
      "With `pending: send`: send only events from this time on and discard older ones",
      "2026-11-21T08:00:00Z",
    ),
  })
  .meta({ id: "ResumeWebhookEndpoint" });

export const replayBody = z
  .object({
    which: z.enum(["failed", "missing"], { error: "must be failed or missing" }).meta({
      type: "string",
      "x-extensible-enum": ["failed", "missing"],
      description:
        "`failed`: deliveries that failed, unless their event was replayed already. `missing`: events that the endpoint " +
        "subscribes to and has no delivery of, for example because it is new",
      examples: ["failed"],
    }),
    since: time(
      "Only deliveries that failed, or events, at or after this time. Default: the whole log",
      "2026-11-21T08:00:00Z",
    ),
    until: time(
      "Only deliveries that failed, or events, before this time. Default: now",
      "2026-11-21T20:00:00Z",
    ),
  })
  .meta({ id: "ReplayWebhooks" });
