/** Validates the editable fields of a request body and reports every problem. */
import type { Problem } from "../../platform/errors.ts";
import { toProblems } from "../../platform/zod-problems.ts";
import type { JobReferenceData } from "../job.reference-data.ts";
import { jobFieldNames, jobFields, jobPatchSchema, type JobFieldName, type JobPatch } from "../job.fields.ts";

const NO_EDITABLE_FIELDS = "No editable fields were provided";

export type CheckedPatch =
  | { ok: true; patch: JobPatch; ignored: string[] }
  | { ok: false; message: string; problems: Problem[]; ignored: string[] };

const editableFields: ReadonlySet<string> = new Set(jobFieldNames);

/**
 * Validates `body`. `path` is prepended to field names in problems, such as `jobs[3].`. Keys that cannot be edited are returned
 * in `ignored`, except `identifierKeys`, which select the job.
 */
export async function checkPatch(
  referenceData: Pick<JobReferenceData, "isKnownStatus">,
  body: Readonly<Record<string, unknown>>,
  path = "",
  identifierKeys: readonly string[] = [],
): Promise<CheckedPatch> {
  const names = Object.keys(body);
  const ignored = names.filter((name) => !editableFields.has(name) && !identifierKeys.includes(name));
  const input = Object.fromEntries(
    names.filter((name) => editableFields.has(name)).map((name) => [name, body[name]]),
  );
  if (Object.keys(input).length === 0)
    return { ok: false, message: NO_EDITABLE_FIELDS, problems: [], ignored };

  const result = jobPatchSchema.safeParse(input);
  const problems = result.success
    ? []
    : toProblems(result.error, "body", path).map((problem) => mentionNull(problem, path));
  const status = input["normalized_status"];
  const isStatusValid = !problems.some((problem) => problem.field === `${path}normalized_status`);
  if (typeof status === "string" && isStatusValid && !(await referenceData.isKnownStatus(status))) {
    problems.push(unknownStatusProblem(status, "body", `${path}normalized_status`));
  }
  const [first] = problems;
  if (first)
    return { ok: false, message: `${first.field.slice(path.length)} ${first.message}`, problems, ignored };
  return { ok: true, patch: result.data as JobPatch, ignored };
}

export function unknownStatusProblem(code: string, location: Problem["location"], field: string): Problem {
  const message = `is not a known status (${JSON.stringify(code)}); GET /v1/reference/statuses lists them`;
  return { location, field, code: "unknown_status", message };
}

/** Adds "or null" to the message of a wrong type if the field is nullable. */
function mentionNull(problem: Problem, path: string): Problem {
  const field = jobFields[problem.field.slice(path.length) as JobFieldName];
  const nullable = field?.value.safeParse(null).success;
  return nullable && problem.code === "invalid_type"
    ? { ...problem, message: `${problem.message} or null` }
    : problem;
}
