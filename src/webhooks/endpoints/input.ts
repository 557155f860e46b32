/** The settings of an endpoint as requests send them. The service validates their values. */
import { z } from "zod";
import { eventTypes } from "../../events/api.ts";
import { mustBe } from "../../operations/schemas.ts";
import { headersByName } from "./custom-headers.ts";
import { IN_FLIGHT_LIMITS, RATE_LIMITS } from "./entity.ts";
import { MAX_DESCRIPTION, MAX_HEADERS } from "./validation.ts";

const string = z.string(mustBe("a string"));

const wholeNumber = ({ min, max }: { min: number; max: number }, description: string) =>
  z
    .int(mustBe(`a whole number from ${min} to ${max}`))
    .meta({ minimum: min, maximum: max, description, examples: [min] });

const url = string.meta({
  minLength: 1,
  maxLength: 2_048,
  description: "An https URL whose host resolves to public IP addresses, unless the service allows others",
  examples: ["https://partner.example/webhooks"],
});
const description = string.meta({
  maxLength: MAX_DESCRIPTION,
  description: "Description, for your own use",
  examples: ["Dispatch board"],
});
const subscribedTypes = z
  .array(
    string.meta({ "x-extensible-enum": [...eventTypes], description: "An event type" }),
    mustBe("a list of event types, or null for all"),
  )
  .meta({ minItems: 1, description: "Event types to send. Null: all, including future types" });
const headers = z
  .array(
    z
      .object(
        {
          name: string.meta({ description: "Name; each name at most once", examples: ["X-Api-Key"] }),
          value: string.meta({
            description: "Value. It is stored encrypted and never returned",
            examples: ["k-49021"],
          }),
        },
        mustBe("an object with name and value"),
      )
      .meta({ id: "WebhookHeaderInput", description: "A custom header." }),
    mustBe("a list of headers"),
  )
  .refine((list) => new Set(list.map(({ name }) => name)).size === list.length, {
    error: "must contain each name once",
    params: { code: "repeated" },
  })
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
export const newEndpoint = z
  .object({
    url,
    description: description.nullish(),
    eventTypes: subscribedTypes.nullish(),
    headers: headers.nullish(),
    maxInFlight: maxInFlight.nullish(),
    perSecond: perSecond.nullish(),
  })
  .meta({ id: "WebhookEndpointInput", description: "A new webhook endpoint." });

/** Null clears a setting that can be empty. */
export const endpointPatch = z
  .object({
    url: url.optional(),
    description: description.nullish(),
    eventTypes: subscribedTypes.nullish(),
    headers: headers.nullish().meta({
      maxItems: MAX_HEADERS,
      description: "Replaces all custom headers. Null or an empty list removes them",
    }),
    maxInFlight: maxInFlight.optional(),
    perSecond: perSecond.optional(),
  })
  .meta({
    id: "WebhookEndpointPatch",
    description: "The settings to change. Absent settings stay as they are; null clears a setting.",
  });

export function newSettings({ headers: list, ...input }: Partial<z.output<typeof newEndpoint>>) {
  return {
    url: input.url,
    description: input.description ?? undefined,
    eventTypes: input.eventTypes ?? undefined,
    headers: list ? headersByName(list) : undefined,
    maxInFlight: input.maxInFlight ?? undefined,
    perSecond: input.perSecond ?? undefined,
  };
}

export function changedSettings({
  headers: list,
  description: text,
  ...patch
}: Partial<z.output<typeof endpointPatch>>) {
  return {
    ...patch,
    description: text === null ? "" : text,
    headers: list === undefined ? undefined : headersByName(list ?? []),
  };
}
