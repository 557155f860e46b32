/** The successful responses of v1 as zod schemas, for OpenAPI and for the contract tests. */
import { z } from "zod";
import { API_VERSION, eventTypes, type EventWire, type HistoryEntryWire } from "../../events/api.ts";
import { jobMarkingNumber, jobSchema, listedJobSchema } from "../../jobs/api.ts";
import { actorTypes } from "../../core/principal.ts";
import { itemErrorCodes, problemSchema } from "./errors.schema.ts";
import {
  count,
  dateTime,
  extensibleEnum,
  idSchema,
  MAX_PAGE_SIZE,
  pageSize,
  requestIdSchema,
  wholeNumber,
} from "../../operations/schemas.ts";

const page = wholeNumber(1, "Page number", 1);

const listPaginationSchema = z
  .object({
    page: page.optional().meta({ description: "Page number; absent if the list is read by cursor" }),
    page_size: pageSize,
    total: count("Number of matching jobs on all pages", 25),
    next_cursor: z
      .string()
      .nullable()
      .meta({ description: "Pass it as `cursor` to read the next page; null on the last page" }),
  })
  .meta({
    id: "ListPagination",
    description: "Position of a page of jobs, and the cursor of the next page.",
  });

const paginationSchema = z
  .object({ page, page_size: pageSize, total: count("Number of items on all pages", 3) })
  .meta({ id: "Pagination", description: "Position of a page." });

export const jobListSchema = z
  .object({ items: z.array(listedJobSchema).max(MAX_PAGE_SIZE), pagination: listPaginationSchema })
  .meta({ id: "JobList" });

const batchItemResultSchema = z
  .object({
    marking_number: jobMarkingNumber,
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
      .meta({ description: "All problems of the item, or null; present if the item failed" }),
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

const historyEntrySchema = z
  .object({
    id: eventIdSchema,
    type: eventTypeSchema,
    sequence: sequenceSchema,
    occurred_at: dateTime("Time of the change", "2026-11-21T09:15:42.318Z"),
    actor: actorSchema,
    request_id: causeSchema,
    changes: changesSchema,
  })
  .meta({ id: "HistoryEntry", description: "A change of a job." }) satisfies z.ZodType<HistoryEntryWire>;

export const historySchema = z
  .object({ items: z.array(historyEntrySchema), pagination: paginationSchema })
  .meta({ id: "History" });

export const apiVersionSchema = z
  .literal(API_VERSION)
  .meta({ type: "string", description: "Version of the event format", examples: [API_VERSION] });

export const eventSchema = z
  .object({
    id: eventIdSchema,
    type: eventTypeSchema,
    api_version: apiVersionSchema,
    timestamp: dateTime("Time of the change", "2026-11-21T09:15:42.318Z"),
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
      "A change of a job, with the whole job after the change. The same in the feed and in webhooks.",
  }) satisfies z.ZodType<EventWire>;

export const feedSchema = z
  .object({
    items: z.array(eventSchema).max(MAX_PAGE_SIZE).meta({ description: "The events, oldest first" }),
    next_cursor: z
      .string()
      .nullable()
      .meta({ description: "Pass it as `after` to continue, now or later; null if there are no events yet" }),
    has_more: z
      .boolean()
      .meta({ description: "True if there may be another page, even if this page is empty" }),
  })
  .meta({ id: "Feed" });
