/** What v1 answers with when it succeeds, as zod: OpenAPI describes it, and the contract test holds every answer to it. */
import { z } from "zod";
import { API_VERSION, eventTypes, type EventWire, type HistoryEntryWire } from "../../events/api.ts";
import {
  type FailureReasonCode,
  type JobFieldName,
  jobFieldNames,
  jobFields,
  type JobStatusCode,
  type JobWire,
  type ListedJobWire,
  markingNumberValue,
} from "../../jobs/api.ts";
import type { IdPrefix } from "../../platform/ids.ts";
import { actorTypes } from "../../platform/principal.ts";
import { itemErrorCodes, extensibleEnum, problemSchema } from "./errors.schema.ts";
import { MAX_PAGE_SIZE } from "./parameters.ts";

type FieldValues = { [Name in JobFieldName]: (typeof jobFields)[Name]["value"] };

const fieldValues = Object.fromEntries(
  jobFieldNames.map((name) => [name, jobFields[name].value]),
) as FieldValues;

function idSchema(prefix: IdPrefix | "req", description: string, example: string) {
  return z
    .string()
    .regex(new RegExp(`^${prefix}_[0-7][0-9A-HJKMNP-TV-Z]{25}$`))
    .meta({ description, examples: [`${prefix}_${example}`] });
}

const dateTime = (description: string, example: string) =>
  z.iso.datetime({ precision: 3 }).meta({ description, examples: [example] });

export const requestIdSchema = idSchema(
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
  .object({
    id: idSchema("job", "Delivery job id", "01KAGD2WJ8F9V6BMH0T3S5XQ1N"),
    marking_number: markingNumber,
    ...fieldValues,
    provider_status: z
      .string()
      .nullable()
      .meta({ description: "Current provider status value", examples: ["DEX03"] }),
    created_at: dateTime("Creation timestamp", "2026-11-20T06:30:00.000Z"),
    updated_at: dateTime("Last update timestamp", "2026-11-21T09:15:42.318Z"),
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
  .object({
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
  .object({ page, page_size: pageSize, total: count("Items on all pages", 3) })
  .meta({ id: "Pagination", description: "The contract's Pagination object." });

const listedJobSchema = jobSchema
  .extend({
    version: z
      .number()
      .int()
      .min(1)
      .meta({ description: "Version of the job: `If-Match` takes it in quotes", examples: [4] }),
  })
  .meta({ id: "ListedJob", description: "A delivery job in a list." }) satisfies z.ZodType<ListedJobWire>;

export const jobListSchema = z
  .object({ items: z.array(listedJobSchema).max(MAX_PAGE_SIZE), pagination: listPaginationSchema })
  .meta({ id: "JobList" });

const batchItemResultSchema = z
  .object({
    marking_number: markingNumber,
    success: z.boolean().meta({ description: "Whether the item was updated" }),
    job: jobSchema.optional(),
    error: z
      .string()
      .optional()
      .meta({
        description: "The error message; present if the item failed",
        examples: ["Delivery job not found"],
      }),
    error_code: extensibleEnum(itemErrorCodes, "The error code; present if the item failed").optional(),
    error_details: z
      .array(problemSchema)
      .nullable()
      .optional()
      .meta({ description: "Every problem found, or null; present if the item failed" }),
  })
  .meta({
    id: "BatchItemResult",
    description: "The result of one item: `job` if it was updated, `error` and `error_code` if it failed.",
  });

export const batchResultSchema = z
  .object({
    updated_count: count("Number of items updated", 1),
    failed_count: count("Number of items that failed", 1),
    results: z
      .array(batchItemResultSchema)
      .meta({ description: "One entry per item, in the order of the request" }),
  })
  .meta({ id: "BatchResult" });

const actorSchema = z
  .object({
    type: extensibleEnum(actorTypes, "An API key, a signed-in user or the service itself"),
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

/** Without a type: not every client generator can declare a member of several types. */
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
  "Event id: the same in the feed, in the history and in every webhook",
  "01KAJQZ4T3C6Y1GKD8B5RVXE2H",
);
const eventTypeSchema = extensibleEnum(eventTypes, "What happened").meta({
  examples: ["job.status_changed"],
});
const sequenceSchema = z
  .int()
  .min(1)
  .meta({ description: "Grows with every change of the job, as a rule by one: its version", examples: [4] });
const causeSchema = requestIdSchema
  .nullable()
  .meta({ description: "The request that made the change; null: none did" });

const historyEntrySchema = z
  .object({
    id: eventIdSchema,
    type: eventTypeSchema,
    sequence: sequenceSchema,
    occurred_at: dateTime("When it happened", "2026-11-21T09:15:42.318Z"),
    actor: actorSchema,
    request_id: causeSchema,
    changes: changesSchema,
  })
  .meta({ id: "HistoryEntry", description: "One change of a job." }) satisfies z.ZodType<HistoryEntryWire>;

export const historySchema = z
  .object({ items: z.array(historyEntrySchema), pagination: paginationSchema })
  .meta({ id: "History" });

export const apiVersionSchema = z
  .literal(API_VERSION)
  .meta({ type: "string", description: "Version of this shape", examples: [API_VERSION] });

export const eventSchema = z
  .object({
    id: eventIdSchema,
    type: eventTypeSchema,
    api_version: apiVersionSchema,
    timestamp: dateTime("When it happened", "2026-11-21T09:15:42.318Z"),
    data: z.object({
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
  .object({
    items: z
      .array(eventSchema)
      .max(MAX_PAGE_SIZE)
      .meta({ description: "In the order in which they are to be read" }),
    next_cursor: z
      .string()
      .nullable()
      .meta({ description: "Hand it back as `after`, now or later; null: nothing ever happened" }),
    has_more: z
      .boolean()
      .meta({ description: "True if there may be another page, also after a page without events" }),
  })
  .meta({ id: "Feed" });

export const statusCodeSchema = z
  .object({
    code: z.string().meta({ examples: ["failed"] }),
    label: z.string().meta({ examples: ["Delivery failed"] }),
    category: z.string().meta({ description: "Group of the status", examples: ["attention"] }),
    is_terminal: z.boolean().meta({ description: "Whether the job's way ends here, as a rule" }),
  })
  .meta({ id: "Status" }) satisfies z.ZodType<JobStatusCode>;

export const failureReasonSchema = z
  .object({
    code: z.string().meta({ examples: ["wrong_incomplete_address"] }),
    label: z.string().meta({ examples: ["Wrong incomplete address"] }),
    applies_to: z
      .array(extensibleEnum(["failed", "on_hold"], "A status code"))
      .meta({ description: "Statuses that it explains" }),
    next_step: extensibleEnum(["retry", "action", "return"], "What usually comes next"),
  })
  .meta({ id: "FailureReason" }) satisfies z.ZodType<FailureReasonCode>;
