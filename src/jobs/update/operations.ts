/** The operations that update one job, or a batch. The service validates the values. */
import { z } from "zod";
import {
  AppError,
  badRequest,
  type ErrorCode,
  invariant,
  type Problem,
  problemIn,
} from "../../core/errors.ts";
import { isObject, type JsonObject } from "../../core/json.ts";
import type { Transaction } from "../../core/postgres/transaction.ts";
import { type Access, Answer, type RequestPrincipal, restOperation } from "../../operations/operation.ts";
import {
  booleanParameter,
  count,
  extensibleEnum,
  flag,
  optionalParameter,
  problemSchema,
  text,
  wholeNumber,
} from "../../operations/schemas.ts";
import { exampleJob, examplePatch } from "../example-job.ts";
import { jobPatchShape } from "../fields.ts";
import type { JobRow } from "../row.sql.ts";
import { jobMarkingNumber, jobSchema, markingNumberPath, noMarkingNumber } from "../schema.ts";
import type { BatchOptions, JobService, UpdateItem } from "../service.ts";
import { markingNumberValue } from "../values.ts";
import { toJobWire } from "../wire.ts";
import { type ItemResult, MAX_BATCH_ITEMS } from "./bulk.ts";
import { bodyProblems, type ItemFailure, unknownStatus } from "./validate-patch.ts";

interface Services {
  readonly jobs: JobService;
}

const tag = "Jobs";
const MAX_BATCH_BYTES = 4 * 1024 * 1024;
const inBody = problemIn("body");

/** Of the mutations, which return the job only to keys with `jobs:read`. A dry run changes nothing, but returns values of the job. */
export const changeJobs: Access = {
  scopes: ["jobs:write"],
  scopesFor: ({ dryRun: isDryRun }) => (isDryRun === true ? ["jobs:read"] : []),
};

/** The routes return the job. */
export const change = {
  access: { scopes: ["jobs:write", "jobs:read"] },
  fresh: false,
  once: {},
  graphql: null,
} as const;

const anyObject = z.record(z.string(), z.unknown());

export const dryRun = booleanParameter.default(false).meta({
  default: false,
  description: "Validate and return the result without changing anything.",
  examples: [true],
});

export const updateJob = restOperation({
  ...change,
  name: "updateJob",
  rest: {
    method: "patch",
    path: "/jobs/by-marking/{markingNumber}",
    places: { patch: "body", dryRun: "query", expectedVersions: "If-Match" },
  },
  rate: "write",
  versioned: true,
  params: markingNumberPath,
  input: z.object({ patch: anyObject, dryRun, expectedVersions: z.array(z.number()).optional() }),
  output: jobSchema,
  text: {
    tag,
    summary: "Update one delivery job",
    description: `Updates the job with this Marking Number and returns the whole job.

At least one editable field is required. Unknown and read-only fields are ignored and listed in \`X-Ignored-Fields\`. If
all values are equal to the current ones, the request succeeds without creating a new version. The body may have up to
64 KiB.`,
    body: {
      description: "One or more of the editable fields.",
      schema: z.object(jobPatchShape).meta({
        id: "JobPatch",
        minProperties: 1,
        description: "The fields to change. Absent fields stay as they are; null clears a field.",
      }),
      examples: {
        failed: { summary: "The delivery failed", value: examplePatch },
        completed: { summary: "The delivery is complete", value: { normalized_status: "completed" } },
        cleared: {
          summary: "A new date; the failure reason is cleared",
          value: { scheduled_delivery_date: "2026-11-25", failure_reason: null },
        },
      },
    },
    result: { description: "The current job.", examples: { "The current job": exampleJob } },
    malformed: [
      { summary: "No editable field", message: "No editable fields were provided" },
      {
        summary: "Values of the wrong type",
        problems: [
          inBody("piece_quantity", "too_small", "must be at least 1"),
          inBody("weight", "invalid_type", "must be a number or null"),
        ],
      },
      { summary: "An unknown status", problems: [inBody("normalized_status", ...unknownStatus("lost"))] },
      noMarkingNumber,
    ],
    errors: ["PreconditionFailedException"],
  },
  problems: async ({ jobs }: Services, { patch }, tx) =>
    patch ? [...conditionProblems(patch), ...(await jobs.fieldProblems(patch, { tx }))] : [],
  async run({ jobs }, principal, { markingNumber, patch, expectedVersions, ...input }, { tx }) {
    const problems = conditionProblems(patch);
    if (problems.length > 0) throw badRequest([...problems, ...(await jobs.fieldProblems(patch, { tx }))]);
    const item = { markingNumber, body: patch, expectedVersions };
    const { actor, requestId } = principal;
    const options = { actor, requestId, dryRun: input.dryRun, tx };
    const { result, ignored } = await jobs.updateOne(principal, item, options);
    if (!("job" in result)) throw toError(result);
    const { job, outcome } = result;
    const isUpdate = outcome === "updated";
    // The version of a dry run does not exist, and another change may get its number.
    const version = isUpdate && input.dryRun ? null : job.version;
    return new Answer(toJobWire(job), { version, ignored, changed: isUpdate && !input.dryRun });
  },
});

/** An ignored condition would be a lost update. */
function conditionProblems(patch: JsonObject): Problem[] {
  if (!("if_version" in patch)) return [];
  return [inBody("if_version", "not_supported", "is for the items of a batch; send the version as If-Match")];
}

function toError(result: Exclude<ItemResult, { job: JobRow }>): AppError {
  invariant("failure" in result, "one update is not applied only if it fails");
  const { code, message, problems, currentVersion } = result.failure;
  if (currentVersion === undefined)
    return new AppError(code, message, { details: problems.length > 0 ? problems : null });
  return new AppError(code, `The job is at version ${currentVersion}, which If-Match does not allow`, {
    details: { current_etag: `"${currentVersion}"` },
  });
}

/** Codes that one item of a batch can fail with while the request as a whole succeeds. */
const itemErrorCodes = [
  "BadRequestException",
  "NotFoundException",
  "ConflictException",
  "PreconditionFailedException",
  "UnprocessableEntityException",
  "InternalServerErrorException",
] as const satisfies readonly ErrorCode[];

const batchItemResult = z
  .object({
    markingNumber: jobMarkingNumber,
    success: flag("Whether the item was updated"),
    job: jobSchema.optional(),
    error: text("The error message; present if the item failed", "Delivery job not found").optional(),
    errorCode: extensibleEnum(itemErrorCodes, "The error code; present if the item failed").optional(),
    errorDetails: z
      .array(problemSchema)
      .nullable()
      .optional()
      .meta({ description: "All problems of the item, or null; present if the item failed" }),
    currentVersion: wholeNumber(1, "The version of the job; present if it is not `if_version`", 5).optional(),
  })
  .meta({
    id: "BatchItemResult",
    description: "The result of one item: `job` if it was updated, `error` and `error_code` if it failed.",
  });

export const ifVersion = z
  .int({ error: "must be a whole number, the version that you read" })
  .min(1, { error: "must be at least 1" })
  .meta({
    description:
      "Change the job only if it has this version; otherwise the item fails with PreconditionFailedException",
    examples: [4],
  });

const batchItem = z
  .object({
    marking_number: markingNumberValue.meta({
      minLength: 1,
      description: "Marking Number of the job",
      examples: ["MN-2026-000123"],
    }),
    if_version: ifVersion.optional(),
    ...jobPatchShape,
  })
  .meta({
    id: "BatchItem",
    description:
      "The fields to change of the job with this Marking Number: at least one. An item without any, or with an invalid field, fails alone.",
  });

export const onError = optionalParameter(
  z.enum(["continue", "stop_all"], { error: "must be continue or stop_all" }).default("continue"),
  "Whether valid items are applied if others fail. With `stop_all`, no job changes if one item fails.",
  "stop_all",
);

export const batchResult = z
  .object({
    updatedCount: count("Number of items updated", 1),
    failedCount: count("Number of items that failed", 1),
    results: z
      .array(batchItemResult)
      .meta({ description: "One entry per item, in the order of the request" }),
  })
  .meta({ id: "BatchResult" });

export const updateJobs = restOperation({
  ...change,
  name: "updateJobs",
  rest: {
    method: "patch",
    path: "/jobs/batch",
    places: { batch: "body", dryRun: "query", onError: "query" },
    maxBodyBytes: MAX_BATCH_BYTES,
    ifMatchProblem: "is for one job; give each item of a batch its version as if_version",
  },
  rate: "batch",
  input: z.object({ batch: anyObject, dryRun, onError }),
  output: batchResult,
  text: {
    tag,
    summary: "Update up to 100 delivery jobs",
    description: `Updates each job of the list independently and returns one result per item in \`results\`. With \`on_error=stop_all\` all of
them are updated, or none. With \`if_version\` an item is applied only to that version of the job.

The status is 200 if the request itself is well-formed, even if every item fails. If \`jobs\` is not a list of 1 to
${MAX_BATCH_ITEMS} objects, each with a valid \`marking_number\`, the request returns 400 and nothing is applied. Items with the same
Marking Number are applied in order. The body may have up to 4 MiB.`,
    body: {
      description: "The jobs to change.",
      schema: z.object({ jobs: z.array(batchItem).min(1).max(MAX_BATCH_ITEMS) }).meta({ id: "BatchUpdate" }),
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
    result: {
      description: "The result of each item.",
      examples: {
        "One item was updated, two failed": {
          updatedCount: 1,
          failedCount: 2,
          results: [
            { markingNumber: "MN-2026-000123", success: true, job: exampleJob },
            {
              markingNumber: "MN-2026-000124",
              success: false,
              error: "Delivery job not found",
              errorCode: "NotFoundException",
              errorDetails: null,
            },
            {
              markingNumber: "MN-2026-000125",
              success: false,
              error: "weight must be a number or null",
              errorCode: "BadRequestException",
              errorDetails: [inBody("jobs[2].weight", "invalid_type", "must be a number or null")],
            },
          ],
        },
      },
    },
    malformed: [
      { summary: "No items", problems: [inBody("jobs", "too_small", "must hold at least one job")] },
      {
        summary: "An item without a Marking Number",
        problems: [inBody("jobs[3].marking_number", "invalid_type", "must be a string")],
      },
      { summary: "Not JSON", message: "The body is not valid JSON" },
    ],
  },
  problems: async (services: Services, { batch }, tx) =>
    batch ? await batchProblems(services, batch, tx) : [],
  async run({ jobs }, principal, { batch, ...input }, { tx }) {
    if (shapeProblems(batch).length > 0) throw badRequest(await batchProblems({ jobs }, batch, tx));
    const { jobs: bodies, ...others } = batch;
    const items = (bodies as JsonObject[]).map((body, index): UpdateItem => ({
      markingNumber: body["marking_number"] as string,
      body,
      problems: versionProblems(body, index),
      ...("if_version" in body && { expectedVersions: [body["if_version"] as number] }),
    }));
    const options = batchOptions(principal, input, tx);
    const { results, ignored } = await jobs.updateBatch(principal, items, options);
    const ignoredOfItems = ignored.filter((name) => name !== "marking_number" && name !== "if_version");
    // Of the body: such as a `dry_run` that belongs in the query.
    return toBatchAnswer(results, input.dryRun, [...Object.keys(others), ...ignoredOfItems]);
  },
});

export function batchOptions(
  { actor, requestId }: RequestPrincipal,
  input: { readonly dryRun: boolean; readonly onError?: "continue" | "stop_all" | undefined },
  tx: Transaction | undefined,
): BatchOptions {
  const errorPolicy = input.onError === "stop_all" ? "all_or_nothing" : "skip_failed";
  return { actor, requestId, dryRun: input.dryRun, errorPolicy, tx };
}

export function toBatchAnswer(
  results: readonly ItemResult[],
  isDryRun: boolean,
  ignored: readonly string[] = [],
): Answer<z.output<typeof batchResult>> {
  const updatedCount = results.filter((result) => "job" in result).length;
  const changed = !isDryRun && results.some(({ outcome }) => outcome === "updated");
  return new Answer(
    { updatedCount, failedCount: results.length - updatedCount, results: results.map(toResultView) },
    { ignored, changed },
  );
}

/** Why the batch is rejected as a whole: `jobs` must be a list of 1 to 100 items with valid Marking Numbers. */
function shapeProblems({ jobs }: JsonObject): Problem[] {
  if (!Array.isArray(jobs)) {
    const message = `must be a list of 1 to ${MAX_BATCH_ITEMS} jobs`;
    return [inBody("jobs", jobs === undefined ? "required" : "invalid_type", message)];
  }
  if (jobs.length === 0) return [inBody("jobs", "too_small", "must hold at least one job")];
  if (jobs.length > MAX_BATCH_ITEMS)
    return [inBody("jobs", "too_big", `must hold at most ${MAX_BATCH_ITEMS} jobs`)];
  return jobs.flatMap((item: unknown, index) => {
    const path = `jobs[${index}]`;
    if (!isObject(item)) return [inBody(path, "invalid_type", "must be an object")];
    return bodyProblems(markingNumberValue, item["marking_number"], `${path}.marking_number`);
  });
}

function versionProblems(item: JsonObject, index: number): Problem[] {
  return bodyProblems(ifVersion.optional(), item["if_version"], `jobs[${index}].if_version`);
}

/** All problems of a batch that is rejected as a whole, also those of its items' fields. */
async function batchProblems(
  { jobs }: Services,
  batch: JsonObject,
  tx: Transaction | undefined,
): Promise<Problem[]> {
  const { jobs: items } = batch;
  if (!Array.isArray(items) || items.length > MAX_BATCH_ITEMS) return shapeProblems(batch);
  const ofFields = await Promise.all(
    items.map(async (item: unknown, index) =>
      isObject(item)
        ? [
            ...versionProblems(item, index),
            ...(await jobs.fieldProblems(item, { path: `jobs[${index}].`, tx })),
          ]
        : [],
    ),
  );
  return [...shapeProblems(batch), ...ofFields.flat()];
}

const NOT_APPLIED = {
  code: "ConflictException",
  message: "Not applied, because another item failed",
  problems: [],
} as const;

function toResultView(result: ItemResult): z.output<typeof batchItemResult> {
  const { markingNumber } = result;
  if ("job" in result) return { markingNumber, success: true, job: toJobWire(result.job) };
  const failure: ItemFailure = "failure" in result ? result.failure : NOT_APPLIED;
  const { message, code, problems, currentVersion } = failure;
  return {
    markingNumber,
    success: false,
    error: message,
    errorCode: code as (typeof itemErrorCodes)[number],
    errorDetails: problems.length > 0 ? [...problems] : null,
    ...(currentVersion !== undefined && { currentVersion }),
  };
}
