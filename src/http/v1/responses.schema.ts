/** What v1 answers with when it succeeds, as zod: OpenAPI describes it, and the contract test holds every answer to it. */
import { z } from "zod";
import { eventTypes } from "../../events/event.entity.ts";
import { API_VERSION, type EventWire, type HistoryEntryWire } from "../../events/event.wire.ts";
import type { FailureReasonCode, JobStatusCode } from "../../jobs/job.codes.ts";
import { jobFieldNames, jobFields, type JobFieldName } from "../../jobs/job.fields.ts";
import { markingNumberValue } from "../../jobs/job.values.ts";
import type { JobWire } from "../../jobs/job.wire.ts";
import type { IdPrefix } from "../../platform/ids.ts";
import { actorTypes } from "../../platform/principal.ts";
import { itemErrorCodes, problemSchema } from "./failures.schema.ts";
import { MAX_PAGE_SIZE } from "./parameters.ts";

type FieldValues = { [Name in JobFieldName]: (typeof jobFields)[Name]["value"] };

const fieldValues = Object.fromEntries(
  jobFieldNames.map((name) => [name, jobFields[name].value]),
) as FieldValues;

function idOf(prefix: IdPrefix | "req", description: string, example: string) {
  return z
    .string()
    .regex(new RegExp(`^${prefix}_[0-7][0-9A-HJKMNP-TV-Z]{25}$`))
    .meta({ description, examples: [`${prefix}_${example}`] });
}

const instant = (description: string, example: string) =>
  z.iso.datetime({ precision: 3 }).meta({ description, examples: [example] });

export const requestIdSchema = idOf(
  "req",
  "Id of the request, also in `X-Request-Id` and in every line of the log about it",
  "01KAJQZ4T0W5H8M3N9PXR2VD7C",
);

const markingNumber = markingNumberValue.meta({
  minLength: 1,
  description: "Marking Number: exact, case-sensitive, unique in the whole service",
  examples: ["MN-2026-000123"],
});

export const jobSchema = z
  .strictObject({
    id: idOf("job", "Delivery job id", "01KAGD2WJ8F9V6BMH0T3S5XQ1N").meta({ readOnly: true }),
    marking_number: markingNumber.meta({ readOnly: true }),
    ...fieldValues,
    provider_status: z
      .string()
      .nullable()
      .meta({ readOnly: true, description: "Current provider status value", examples: ["DEX03"] }),
    created_at: instant("Creation timestamp", "2026-11-20T06:30:00.000Z").meta({ readOnly: true }),
    updated_at: instant("Last update timestamp", "2026-11-21T09:15:42.318Z").meta({ readOnly: true }),
  })
  .meta({ id: "Job", description: "A delivery job." }) satisfies z.ZodType<JobWire>;

const count = (description: string, example: number) =>
  z
    .number()
    .int()
    .min(0)
    .meta({ description, examples: [example] });
const pageSize = z
  .number()
  .int()
  .min(1)
  .max(MAX_PAGE_SIZE)
  .meta({ description: "Items per page", examples: [10] });
const page = z
  .number()
  .int()
  .min(1)
  .meta({ description: "Page number", examples: [1] });

const listPaginationSchema = z
  .strictObject({
    page: page.optional().meta({ description: "Page number; absent where the list is read by cursor" }),
    page_size: pageSize,
    total: count("Jobs that match, on all pages", 25),
    next_cursor: z
      .string()
      .nullable()
      .meta({ description: "Hand it back as `cursor` for the next page; null: this is the last one" }),
  })
  .meta({ id: "ListPagination", description: "The contract's Pagination object, and a cursor." });

const paginationSchema = z
  .strictObject({ page, page_size: pageSize, total: count("Items on all pages", 3) })
  .meta({ id: "Pagination", description: "The contract's Pagination object." });

export const jobListSchema = z
  .strictObject({ items: z.array(jobSchema).max(MAX_PAGE_SIZE), pagination: listPaginationSchema })
  .meta({ id: "JobList" });

const updatedItemSchema = z
  .strictObject({ marking_number: markingNumber, success: z.literal(true), job: jobSchema })
  .meta({ id: "UpdatedItem", description: "An item that was updated, and the job as it is now." });

const failedItemSchema = z
  .strictObject({
    marking_number: markingNumber,
    success: z.literal(false),
    error: z
      .string()
      .meta({ description: "What is wrong, for people", examples: ["Delivery job not found"] }),
    error_code: z.enum(itemErrorCodes).meta({ description: "What is wrong, for programs" }),
    error_details: z.array(problemSchema).nullable().meta({ description: "Every problem found, or null" }),
  })
  .meta({ id: "FailedItem", description: "An item that was not updated, and why." });

export const batchResultSchema = z
  .strictObject({
    updated_count: count("Number of items updated", 1),
    failed_count: count("Number of items that failed", 1),
    results: z
      .array(z.union([updatedItemSchema, failedItemSchema]))
      .meta({ description: "One entry per item, in the order of the request" }),
  })
  .meta({ id: "BatchResult" });

const actorSchema = z
  .strictObject({
    type: z
      .enum(actorTypes)
      .meta({ description: "A partner's API key, a signed-in person or the service itself" }),
    id: z
      .string()
      .regex(/^(key|usr)_[0-7][0-9A-HJKMNP-TV-Z]{25}$/)
      .nullable()
      .meta({
        description: "Id of the key or person; null for the service",
        examples: ["key_01KAB7Q3M5E8RZ2C4WFX9TNH6D"],
      }),
  })
  .meta({ id: "Actor", description: "Who made the change." });

const fieldValue = z.union([z.string(), z.number(), z.boolean(), z.null()]);
const changesSchema = z.record(z.string(), z.strictObject({ from: fieldValue, to: fieldValue })).meta({
  id: "Changes",
  description:
    "The fields that changed, each with its value before and after. An assignment shows as `contractor_id`.",
});

const eventIdSchema = idOf(
  "evt",
  "Event id: the same in the feed, in the history and in every webhook",
  "01KAJQZ4T3C6Y1GKD8B5RVXE2H",
);
const eventTypeSchema = z
  .enum(eventTypes)
  .meta({ description: "What happened", examples: ["job.status_changed"] });
const sequenceSchema = z
  .int()
  .min(1)
  .meta({ description: "Grows with every change of the job, as a rule by one: its version", examples: [4] });
const causeSchema = requestIdSchema
  .nullable()
  .meta({ description: "The request that made the change; null: none did" });

const historyEntrySchema = z
  .strictObject({
    id: eventIdSchema,
    type: eventTypeSchema,
    sequence: sequenceSchema,
    occurred_at: instant("When it happened", "2026-11-21T09:15:42.318Z"),
    actor: actorSchema,
    request_id: causeSchema,
    changes: changesSchema,
  })
  .meta({ id: "HistoryEntry", description: "One change of a job." }) satisfies z.ZodType<HistoryEntryWire>;

export const historySchema = z
  .strictObject({ items: z.array(historyEntrySchema), pagination: paginationSchema })
  .meta({ id: "History" });

export const eventSchema = z
  .strictObject({
    id: eventIdSchema,
    type: eventTypeSchema,
    api_version: z.literal(API_VERSION).meta({ description: "Version of this shape" }),
    timestamp: instant("When it happened", "2026-11-21T09:15:42.318Z"),
    data: z.strictObject({
      job: jobSchema,
      changes: changesSchema,
      sequence: sequenceSchema,
      actor: actorSchema,
      request_id: causeSchema,
    }),
  })
  .meta({
    id: "Event",
    description:
      "Something that happened to a job, with the whole job as it left it: the same in the feed and in webhooks.",
  }) satisfies z.ZodType<EventWire>;

export const feedSchema = z
  .strictObject({
    items: z
      .array(eventSchema)
      .max(MAX_PAGE_SIZE)
      .meta({ description: "In the order in which they are to be read" }),
    next_cursor: z
      .string()
      .nullable()
      .meta({ description: "Hand it back as `after`, now or later; null: nothing ever happened" }),
    has_more: z.boolean().meta({ description: "Whether more events wait already" }),
  })
  .meta({ id: "Feed" });

export const statusCodeSchema = z
  .strictObject({
    code: z.string().meta({ examples: ["failed"] }),
    label: z.string().meta({ examples: ["Delivery failed"] }),
    category: z.string().meta({ description: "Group of the status", examples: ["attention"] }),
    is_terminal: z.boolean().meta({ description: "Whether the job's way ends here, as a rule" }),
  })
  .meta({ id: "Status" }) satisfies z.ZodType<JobStatusCode>;

export const failureReasonSchema = z
  .strictObject({
    code: z.string().meta({ examples: ["wrong_incomplete_address"] }),
    label: z.string().meta({ examples: ["Wrong incomplete address"] }),
    applies_to: z.array(z.enum(["failed", "on_hold"])).meta({ description: "Statuses that it explains" }),
    next_step: z.enum(["retry", "action", "return"]).meta({ description: "What usually comes next" }),
  })
  .meta({ id: "FailureReason" }) satisfies z.ZodType<FailureReasonCode>;
