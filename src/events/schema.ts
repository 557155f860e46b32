/** Events as REST and webhooks send them, as zod. */
import { z } from "zod";
import { actorTypes } from "../core/principal.ts";
import { jobSchema } from "../jobs/api.ts";
import {
  dateTime,
  extensibleEnum,
  idSchema,
  inRestForm,
  requestIdSchema,
  wholeNumber,
} from "../operations/schemas.ts";
import { eventTypes, removalTypes } from "./entity.ts";
import { API_VERSION, type EventWire, type HistoryEntryWire } from "./wire.ts";

const actorSchema = z
  .object({
    type: extensibleEnum(actorTypes, "Type of actor: an API key, a signed-in user or the service itself"),
    id: z
      .string()
      .regex(/^(key|usr)_[0-7][0-9A-HJKMNP-TV-Z]{25}$/)
      .nullable()
      .meta({
        description: "ID of the key or user; null for the service",
        examples: ["key_01KAB7Q3M5E8RZ2C4WFX9TNH6D"],
      }),
  })
  .meta({ id: "Actor", description: "The actor of the change." });

/** Declared without a type, because some client generators don't support unions of primitive types. */
const fieldValue = (description: string, example: string) =>
  z.any().meta({ description: `${description}: a string, number, boolean or null`, examples: [example] });
const fieldChangeSchema = z
  .object({
    from: fieldValue("The value before the change", "out_for_delivery"),
    to: fieldValue("The value after the change", "failed"),
  })
  .meta({ id: "FieldChange" });
const changesSchema = z.record(z.string(), fieldChangeSchema).meta({
  id: "Changes",
  description:
    "The fields that changed, each with its value before and after. An assignment shows as `contractor_id`.",
});

const eventIdSchema = idSchema(
  "evt",
  "Event ID: the same in the feed, the history and webhooks",
  "evt_01KAJQZ4T3C6Y1GKD8B5RVXE2H",
);
const eventTypeSchema = extensibleEnum(eventTypes, "Type of the event").meta({
  examples: ["job.status_changed"],
});
const sequenceSchema = wholeNumber(1, "Version of the job. Increases with every change, usually by one", 4);
const causeSchema = requestIdSchema
  .nullable()
  .meta({ description: "ID of the request that made the change; null if there was none" });

export const historyEntrySchema = inRestForm(
  z
    .object({
      id: eventIdSchema,
      type: eventTypeSchema,
      sequence: sequenceSchema,
      occurred_at: dateTime("Time of the change", "2026-11-21T09:15:42.318Z"),
      actor: actorSchema,
      request_id: causeSchema,
      changes: changesSchema,
    })
    .meta({ id: "HistoryEntry", description: "A change of a job." }) satisfies z.ZodType<HistoryEntryWire>,
);

export const apiVersionSchema = z
  .literal(API_VERSION)
  .meta({ type: "string", description: "Version of the event format", examples: [API_VERSION] });

/** Not a union of two schemas, which many client generators don't support (decision 0055). */
const eventJobSchema = jobSchema
  .partial()
  .required({ id: true, marking_number: true, version: true })
  .meta({
    id: "EventJob",
    description: `The whole job after the change. In ${removalTypes.map((type) => `\`${type}\``).join(" and ")}, after which you can no longer see the job, only \`id\`, \`marking_number\` and \`version\`.`,
  });

export const eventSchema = inRestForm(
  z
    .object({
      id: eventIdSchema,
      type: eventTypeSchema,
      api_version: apiVersionSchema,
      timestamp: dateTime("Time of the change", "2026-11-21T09:15:42.318Z"),
      data: z.object({
        job: eventJobSchema,
        changes: changesSchema,
        sequence: sequenceSchema,
        actor: actorSchema,
        request_id: causeSchema,
      }),
    })
    .meta({
      id: "Event",
      description: "A change of a job, with the job after the change. The same in the feed and in webhooks.",
    }) satisfies z.ZodType<EventWire>,
);
