/** OpenAPI operations of jobs. */
import { z } from "zod";
import { jobSchema, jobPatchShape, markingNumberValue, MAX_BATCH_ITEMS } from "../../../jobs/api.ts";
import { historyParameters, listParameters } from "../jobs.read.ts";
import { writeParameters } from "../jobs.update.ts";
import { exampleHistoryEntry, exampleJob, exampleListedJob, examplePatch } from "../../../events/api.ts";
import { etagUnlessDryRun, idempotencyKeyHeader, ifMatchHeader, ifNoneMatchHeader } from "./headers.ts";
import {
  malformedBatch,
  malformedHistory,
  malformedList,
  malformedMarkingNumber,
  malformedPatch,
  partialFailure,
} from "./error-examples.ts";
import { changeErrors, jsonBody, operation } from "./operation.ts";
import { batchResultSchema, historySchema, jobListSchema } from "../responses.schema.ts";

const tag = "Jobs";
const onePath = "/jobs/by-marking/{markingNumber}";

const pathParameters = z.object({
  markingNumber: markingNumberValue.meta({
    minLength: 1,
    description: "Marking Number, percent-encoded (`/` as `%2F`). The match is exact and case-sensitive.",
    examples: ["MN-2026-000123"],
  }),
});

const jobPatch = z.object(jobPatchShape).meta({
  id: "JobPatch",
  minProperties: 1,
  description: "The fields to change. Absent fields stay as they are; null clears a field.",
});

const batchItem = z
  .object({
    marking_number: markingNumberValue.meta({
      minLength: 1,
      description: "Marking Number of the job",
      examples: ["MN-2026-000123"],
    }),
    ...jobPatchShape,
  })
  .meta({
    id: "BatchItem",
    minProperties: 2,
    description: "The fields to change of the job with this Marking Number.",
  });

const batchBody = z
  .object({ jobs: z.array(batchItem).min(1).max(MAX_BATCH_ITEMS) })
  .meta({ id: "BatchUpdate" });

export const listJobs = operation({
  method: "get",
  path: "/jobs",
  operationId: "listJobs",
  summary: "List delivery jobs",
  description: `The delivery jobs visible to the key's organization, newest first, in pages.

A job must match all given filters. Repeated, empty and malformed parameters return 400; unknown parameters are
ignored. To read many pages, pass \`pagination.next_cursor\` as \`cursor\`: every page is equally fast, and no job is
skipped if jobs are added meanwhile.

Jobs can change while you read. What a list by \`cursor\` guarantees depends on \`sort\`:

- \`created_at\`, \`-created_at\`: each job is returned exactly once.
- \`updated_at\`: no job is skipped, and a job that changes is returned again at the end. A change that is still being written can
  be missing, so start the next list with \`updated_since\` at the newest \`updated_at\` minus 60 seconds.
- \`-updated_at\`: a job that changes before you reach it is not returned. It is on the first page of a new list.
- \`scheduled_date\`, \`-scheduled_date\`: a job whose scheduled date changes can be returned twice or not at all.

With \`page\`, a job can be returned twice or not at all in each order if jobs are added or change. To keep a copy of the jobs,
follow \`GET /v1/events\`: it has each change exactly once and depends on no time.`,
  tag,
  scopes: ["jobs:read"],
  request: { query: listParameters },
  success: {
    description: "A page of jobs.",
    name: "JobListEnvelope",
    data: jobListSchema,
    examples: {
      "A page of one job": {
        items: [exampleListedJob],
        pagination: { page: 1, page_size: 10, total: 1, next_cursor: null },
      },
      "A page read by cursor, with further pages": {
        items: [exampleListedJob],
        pagination: { page_size: 1, total: 25, next_cursor: "WzEsImpvYnMiLCItY3JlYXRlZF9hdCJd" },
      },
    },
    headers: ["Link"],
  },
  malformed: malformedList,
});

export const findJob = operation({
  method: "get",
  path: onePath,
  operationId: "getJob",
  summary: "Get one delivery job",
  description:
    "The job with this Marking Number. Returns 404 if it doesn't exist or isn't visible to the key's organization.",
  tag,
  scopes: ["jobs:read"],
  request: { params: pathParameters, headers: z.object({ "If-None-Match": ifNoneMatchHeader }) },
  isConditional: true,
  success: {
    description: "The job.",
    name: "JobEnvelope",
    data: jobSchema,
    examples: { "The job": exampleJob },
    headers: ["ETag"],
  },
  malformed: malformedMarkingNumber,
  errors: ["NotFoundException"],
});

export const jobHistory = operation({
  method: "get",
  path: `${onePath}/history`,
  operationId: "listJobHistory",
  summary: "List a job's changes",
  description:
    "Every change of the job, newest first: actor, time, request ID, and the old and new value of each field.",
  tag,
  scopes: ["jobs:read"],
  request: { params: pathParameters, query: historyParameters },
  success: {
    description: "A page of changes.",
    name: "HistoryEnvelope",
    data: historySchema,
    examples: {
      "A page of one change": {
        items: [exampleHistoryEntry],
        pagination: { page: 1, page_size: 10, total: 1 },
      },
    },
    headers: ["Link"],
  },
  malformed: malformedHistory,
  errors: ["NotFoundException"],
});

export const updateJob = operation({
  method: "patch",
  path: onePath,
  operationId: "updateJob",
  summary: "Update one delivery job",
  description: `Updates the job with this Marking Number and returns the whole job.

At least one editable field is required. Unknown and read-only fields are ignored and listed in \`X-Ignored-Fields\`. If
all values are equal to the current ones, the request succeeds without creating a new version. The body may have up to
64 KiB.`,
  tag,
  scopes: ["jobs:write", "jobs:read"],
  request: {
    params: pathParameters,
    query: writeParameters,
    headers: z.object({ "Idempotency-Key": idempotencyKeyHeader, "If-Match": ifMatchHeader }),
    body: jsonBody("One or more of the editable fields.", jobPatch, {
      failed: { summary: "The delivery failed", value: examplePatch },
      completed: { summary: "The delivery is complete", value: { normalized_status: "completed" } },
      cleared: {
        summary: "A new date; the failure reason is cleared",
        value: { scheduled_delivery_date: "2026-11-25", failure_reason: null },
      },
    }),
  },
  success: {
    description: "The current job.",
    name: "JobEnvelope",
    data: jobSchema,
    examples: { "The current job": exampleJob },
    headers: ["X-Ignored-Fields", "Idempotency-Replayed"],
    ownHeaders: etagUnlessDryRun,
  },
  malformed: malformedPatch,
  errors: ["NotFoundException", "PreconditionFailedException", ...changeErrors],
});

export const updateJobs = operation({
  method: "patch",
  path: "/jobs/batch",
  operationId: "updateJobs",
  summary: "Update up to 100 delivery jobs",
  description: `Updates each job of the list independently and returns one result per item in \`results\`.

The status is 200 if the request itself is well-formed, even if every item fails. If \`jobs\` is not a list of 1 to
${MAX_BATCH_ITEMS} objects, each with a valid \`marking_number\`, the request returns 400 and nothing is applied. Items with the same
Marking Number are applied in order. The body may have up to 4 MiB.`,
  tag,
  scopes: ["jobs:write", "jobs:read"],
  request: {
    query: writeParameters,
    headers: z.object({ "Idempotency-Key": idempotencyKeyHeader }),
    body: jsonBody("The jobs to change.", batchBody, {
      two: {
        summary: "Two jobs",
        value: {
          jobs: [
            { marking_number: "MN-2026-000123", ...examplePatch },
            { marking_number: "MN-2026-000124", normalized_status: "completed" },
          ],
        },
      },
    }),
  },
  success: {
    description: "The result of each item.",
    name: "BatchResultEnvelope",
    data: batchResultSchema,
    examples: { "One item was updated, two failed": partialFailure },
    headers: ["X-Ignored-Fields", "Idempotency-Replayed"],
  },
  malformed: malformedBatch,
  errors: changeErrors,
});
