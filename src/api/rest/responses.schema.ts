/** The successful responses of v1 as zod schemas, for OpenAPI and for the contract tests. */
import { z } from "zod";
import { historyEntrySchema } from "../../events/api.ts";
import { jobMarkingNumber, jobSchema, listedJobSchema } from "../../jobs/api.ts";
import { itemErrorCodes, problemSchema } from "./errors.schema.ts";
import { count, extensibleEnum, MAX_PAGE_SIZE, pageSize, wholeNumber } from "../../operations/schemas.ts";

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

export const historySchema = z
  .object({ items: z.array(historyEntrySchema), pagination: paginationSchema })
  .meta({ id: "History" });
