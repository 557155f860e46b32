/** The job operations: the three of the contract, the single read and the history. */
import { z } from "zod";
import { jobPatchShape, markingNumberValue } from "../../../jobs/api.ts";
import { MAX_BATCH } from "../batch.schema.ts";
import { historyParameters, listParameters, writeParameters } from "../jobs.schema.ts";
import { exampleHistoryEntry, exampleJob, examplePatch } from "./examples.ts";
import { etagUnlessDryRun, idempotencyKeyHeader, ifMatchHeader, ifNoneMatchHeader } from "./headers.ts";
import {
  malformedBatch,
  malformedHistory,
  malformedList,
  malformedMarkingNumber,
  malformedPatch,
  partialFailure,
} from "./job-examples.ts";
import { operation } from "./operation.ts";
import { batchResultSchema, historySchema, jobListSchema, jobSchema } from "../responses.schema.ts";

const tag = "Jobs";
const onePath = "/jobs/by-marking/{markingNumber}";

const pathParameters = z.object({
  markingNumber: markingNumberValue.meta({
    minLength: 1,
    description: "Marking Number, percent-encoded; it may hold `/` as `%2F`. Exact and case-sensitive.",
    examples: ["MN-2026-000123"],
  }),
});

const jobPatch = z.object(jobPatchShape).meta({
  id: "JobPatch",
  minProperties: 1,
  description: "A change of one job: an absent field stays as it is, null clears it.",
});

const batchItem = z
  .object({
    marking_number: markingNumberValue.meta({
      minLength: 1,
      description: "Selects the job",
      examples: ["MN-2026-000123"],
    }),
    ...jobPatchShape,
  })
  .meta({ id: "BatchItem", minProperties: 2, description: "A change of the job with this Marking Number." });

const exampleListedJob = { ...exampleJob, version: 4 };

const batchBody = z.object({ jobs: z.array(batchItem).min(1).max(MAX_BATCH) }).meta({ id: "BatchUpdate" });

const bodyFailures = ["PayloadTooLargeException", "UnsupportedMediaTypeException"] as const;
const idempotencyFailures = ["ConflictException", "UnprocessableEntityException"] as const;

export const listJobs = operation({
  method: "get",
  path: "/jobs",
  operationId: "listJobs",
  summary: "List delivery jobs",
  description: `The delivery jobs visible to the key's organization, newest first, in pages.

Filters narrow the list together; none of them is required. A repeated, empty or malformed parameter is 400, an unknown
one is ignored. To walk through many pages, hand \`pagination.next_cursor\` back as \`cursor\`: it costs the same on every
page and skips nothing when jobs are added meanwhile.`,
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
      "Read by cursor, with more to come": {
        items: [exampleListedJob],
        pagination: { page_size: 1, total: 25, next_cursor: "WzEsImpvYnMiLCItY3JlYXRlZF9hdCJd" },
      },
    },
    headers: ["Link"],
  },
  errors: [["BadRequestException", { examples: malformedList }]],
});

export const findJob = operation({
  method: "get",
  path: onePath,
  operationId: "getJob",
  summary: "Get one delivery job",
  description:
    "The job with this Marking Number. One that is not visible to the key's organization is not there.",
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
  errors: [["BadRequestException", { examples: malformedMarkingNumber }], "NotFoundException"],
});

export const jobHistory = operation({
  method: "get",
  path: `${onePath}/history`,
  operationId: "listJobHistory",
  summary: "List a job's changes",
  description:
    "Every change of the job, newest first: who made it, when, by which request, and each field from → to.",
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
  errors: [["BadRequestException", { examples: malformedHistory }], "NotFoundException"],
});

export const updateJob = operation({
  method: "patch",
  path: onePath,
  operationId: "updateJob",
  summary: "Update one delivery job",
  description: `Changes the job with this Marking Number and answers with the whole job.

At least one editable field is required. Keys that are unknown or read-only are ignored and named in
\`X-Ignored-Fields\`. A change that changes nothing is a success without a new version. The body is at most 64 KiB.`,
  tag,
  scopes: ["jobs:write", "jobs:read"],
  request: {
    params: pathParameters,
    query: writeParameters,
    headers: z.object({ "Idempotency-Key": idempotencyKeyHeader, "If-Match": ifMatchHeader }),
    body: {
      required: true,
      description: "One or more of the editable fields.",
      content: {
        "application/json": {
          schema: jobPatch,
          examples: {
            failed: { summary: "The delivery failed", value: examplePatch },
            completed: { summary: "The delivery is done", value: { normalized_status: "completed" } },
            cleared: {
              summary: "A new date, and no reason any more",
              value: { scheduled_delivery_date: "2026-11-25", failure_reason: null },
            },
          },
        },
      },
    },
  },
  success: {
    description: "The job as it is now.",
    name: "JobEnvelope",
    data: jobSchema,
    examples: { "The job as it is now": exampleJob },
    headers: ["X-Ignored-Fields", "Idempotency-Replayed"],
    ownHeaders: etagUnlessDryRun,
  },
  errors: [
    ["BadRequestException", { examples: malformedPatch }],
    "NotFoundException",
    "PreconditionFailedException",
    ...bodyFailures,
    ...idempotencyFailures,
  ],
});

export const updateJobs = operation({
  method: "patch",
  path: "/jobs/batch",
  operationId: "updateJobs",
  summary: "Update up to 100 delivery jobs",
  description: `Changes each job of the list; every item stands alone, and its outcome is in \`results\`.

The answer is 200 whenever the request itself is well formed, even if every item failed. The request is refused whole (400),
with nothing applied, where \`jobs\` is not a list of 1 to ${MAX_BATCH} objects with a sound \`marking_number\` each. The same
Marking Number twice is applied twice, in order. The body is at most 4 MiB.`,
  tag,
  scopes: ["jobs:write", "jobs:read"],
  request: {
    query: writeParameters,
    headers: z.object({ "Idempotency-Key": idempotencyKeyHeader }),
    body: {
      required: true,
      description: "The jobs to change.",
      content: {
        "application/json": {
          schema: batchBody,
          examples: {
            two: {
              summary: "Two jobs",
              value: {
                jobs: [
                  { marking_number: "MN-2026-000123", ...examplePatch },
                  { marking_number: "MN-2026-000124", normalized_status: "completed" },
                ],
              },
            },
          },
        },
      },
    },
  },
  success: {
    description: "What became of each item.",
    name: "BatchResultEnvelope",
    data: batchResultSchema,
    examples: { "One item was updated, two failed": partialFailure },
    headers: ["X-Ignored-Fields", "Idempotency-Replayed"],
  },
  errors: [["BadRequestException", { examples: malformedBatch }], ...bodyFailures, ...idempotencyFailures],
});
