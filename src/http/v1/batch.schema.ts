/** Validates the structure of the body of PATCH /v1/jobs/batch. The values of each item are validated later, per item. */
import { badRequest, type AppError, type Problem } from "../../platform/errors.ts";
import { toProblems } from "../../platform/zod-problems.ts";
import { type BatchItem, markingNumberValue } from "../../jobs/api.ts";
import { isObject, type JsonObject } from "../body.ts";

export const MAX_BATCH = 100;

/** Returns the items of `body`. Throws BadRequestException if `jobs` is not a list of 1 to 100 items with valid Marking Numbers. */
export function readBatch(body: JsonObject): BatchItem[] {
  const jobs = body["jobs"];
  if (jobs === undefined) throw invalidBatch("jobs", "required", "must be a list of 1 to 100 jobs");
  if (!Array.isArray(jobs)) throw invalidBatch("jobs", "invalid_type", "must be a list of 1 to 100 jobs");
  if (jobs.length === 0) throw invalidBatch("jobs", "too_small", "must hold at least one job");
  if (jobs.length > MAX_BATCH) throw invalidBatch("jobs", "too_big", `must hold at most ${MAX_BATCH} jobs`);
  const problems = jobs.flatMap((item: unknown, index) => problemsOfItem(item, `jobs[${index}]`));
  if (problems.length > 0) throw badRequest(problems);
  return (jobs as JsonObject[]).map((item) => ({
    markingNumber: item["marking_number"] as string,
    body: item,
  }));
}

function problemsOfItem(item: unknown, path: string): Problem[] {
  if (!isObject(item))
    return [{ location: "body", field: path, code: "invalid_type", message: "must be an object" }];
  const result = markingNumberValue.safeParse(item["marking_number"]);
  return result.success ? [] : toProblems(result.error, "body", `${path}.marking_number`);
}

function invalidBatch(field: string, code: string, message: string): AppError {
  return badRequest([{ location: "body", field, code, message }]);
}
