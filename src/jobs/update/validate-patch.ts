/** Validates a change of a job, its Marking Number and its editable fields, and reports every problem. */
import type { z } from "zod";
import { type ErrorCode, type Problem, problemIn } from "../../core/errors.ts";
import type { Reader } from "../../core/postgres/database.ts";
import { toProblems } from "../../core/zod-problems.ts";
import type { JobReferenceData } from "../reference-data.ts";
import { jobFieldNames, jobFields, jobPatchSchema, type JobFieldName, type JobPatch } from "../fields.ts";

export interface CheckedFields {
  /** Empty if there are problems or no editable fields. */
  patch: JobPatch;
  problems: Problem[];
  ignored: string[];
  /** Why the fields are not a valid change: the first problem, or that there are none. */
  message: string | undefined;
}

export interface FieldCheckOptions {
  /** Prepended to field names in problems, such as `jobs[3].`. */
  path?: string | undefined;
  /** The connection on which to look up an unknown status. Default: any. */
  reader?: Reader | undefined;
}

const inBody = problemIn("body");
const editableFields: ReadonlySet<string> = new Set(jobFieldNames);

export async function checkFields(
  referenceData: Pick<JobReferenceData, "isKnownStatus">,
  body: Readonly<Record<string, unknown>>,
  { path = "", reader }: FieldCheckOptions = {},
): Promise<CheckedFields> {
  const names = Object.keys(body);
  const ignored = names.filter((name) => !editableFields.has(name));
  const input = Object.fromEntries(
    names.filter((name) => editableFields.has(name)).map((name) => [name, body[name]]),
  );
  if (Object.keys(input).length === 0)
    return { patch: {}, problems: [], ignored, message: "No editable fields were provided" };

  const result = jobPatchSchema.safeParse(input);
  const problems = result.success
    ? []
    : toProblems(result.error, "body", path).map((problem) => mentionNull(problem, path));
  const field = `${path}normalized_status`;
  const status = input["normalized_status"];
  const isText = typeof status === "string" && !problems.some((problem) => problem.field === field);
  if (isText && !(await referenceData.isKnownStatus(status, reader)))
    problems.push(inBody(field, ...unknownStatus(status)));
  const [first] = problems;
  if (!first) return { patch: result.data ?? {}, problems, ignored, message: undefined };
  const message = `${first.field.slice(path.length)} ${first.message}`;
  return { patch: {}, problems, ignored, message };
}

export function unknownStatus(code: string): [string, string] {
  const message = `is not a known status (${JSON.stringify(code)}); GET /v1/reference/statuses lists them`;
  return ["unknown_status", message];
}

export interface ItemFailure {
  code: ErrorCode;
  message: string;
  problems: readonly Problem[];
  /** The job's version, if the caller expected another one. */
  currentVersion?: number;
}

/** A validated item: the change to apply, or why it failed. */
export type CheckedItem<Change> = { markingNumber: string } & ({ change: Change } | { failure: ItemFailure });

export function bodyProblems(schema: z.ZodType, value: unknown, field: string): Problem[] {
  const { error } = schema.safeParse(value);
  return error ? toProblems(error, "body", field) : [];
}

/** A failed item if there are problems, else the change. `message` replaces the text of the first problem. */
export function checkedItem<Change extends { markingNumber: string }>(
  change: Change,
  problems: readonly Problem[],
  message?: string,
): CheckedItem<Change> {
  const { markingNumber } = change;
  const [first] = problems;
  const summary = message ?? (first && `${first.field} ${first.message}`);
  if (summary === undefined) return { markingNumber, change };
  return { markingNumber, failure: { code: "BadRequestException", message: summary, problems } };
}

/** Adds "or null" to the message of a wrong type if the field is nullable. */
function mentionNull(problem: Problem, path: string): Problem {
  const field = jobFields[problem.field.slice(path.length) as JobFieldName];
  const nullable = field?.value.safeParse(null).success;
  return nullable && problem.code === "invalid_type"
    ? { ...problem, message: `${problem.message} or null` }
    : problem;
}
