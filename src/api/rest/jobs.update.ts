/** PATCH routes of jobs: one job or a batch, at most once per Idempotency-Key. Parses, calls the service, formats the result. */
import type { Request, Response } from "express";
import { z } from "zod";
import type { IdempotencyService } from "../../idempotency/api.ts";
import {
  type BulkOptions,
  type ItemResult,
  type JobRow,
  type JobService,
  markingNumberValue,
  MAX_BATCH_ITEMS,
  toJobWire,
  type UpdateItem,
} from "../../jobs/api.ts";
import { AppError, badRequest, invariant, type Problem } from "../../core/errors.ts";
import type { Transaction } from "../../core/postgres/transaction.ts";
import { toProblems } from "../../core/zod-problems.ts";
import { contextOf, principalOf } from "../context.ts";
import { isObject, type JsonObject, objectBody, type RouteHandler, type RouteResult } from "../json.ts";
import { idempotent } from "./idempotent.ts";
import { invalid, markingNumberOf, problemsIn, queryReader, withAllProblems } from "./parameters.ts";
import { booleanParameter } from "../../operations/schemas.ts";

export const writeParameters = z.object({
  dry_run: booleanParameter.default(false).meta({
    default: false,
    description: "Validate and return the result without changing anything.",
    examples: [true],
  }),
});

const readWriteQuery = queryReader(writeParameters);

export interface JobUpdateServices {
  idempotency: IdempotencyService;
  jobs: JobService;
}

/** PATCH of one job. `route` is its name. */
export function updateJob({ jobs, idempotency }: JobUpdateServices, route: string): RouteHandler {
  return idempotent(idempotency, `PATCH ${route}`, async (request, response, tx) => {
    const read = () => ({
      item: {
        markingNumber: markingNumberOf(request),
        body: objectBody(request),
        expectedVersions: readIfMatch(request.get("if-match")),
      },
      options: updateOptions(request, response, tx),
    });
    const { item, options } = await withAllProblems(read, async () => [
      ...problemsIn(
        () => markingNumberOf(request),
        () => objectBody(request),
        () => readIfMatch(request.get("if-match")),
        () => readWriteQuery(request.originalUrl),
      ),
      ...(isObject(request.body) ? await jobs.fieldProblems(request.body, { tx }) : []),
    ]);
    const { result, ignored } = await jobs.updateOne(principalOf(response), item, options);
    if (!("job" in result)) throw toError(result);
    const changed = result.outcome === "updated";
    const { data, headers } = jobResult(result.job);
    const isPreview = options.dryRun && changed;
    return {
      data,
      // The version of a dry run does not exist, and another change may get its number.
      headers: { ...(!isPreview && headers), ...ignoredFieldsHeader(ignored) },
      changed: changed && !options.dryRun,
    };
  });
}

function toError(result: Exclude<ItemResult, { job: JobRow }>): unknown {
  invariant("failure" in result, "one update is not applied only if it fails");
  const { code, message, problems, currentVersion, cause } = result.failure;
  if (cause) return cause;
  if (currentVersion === undefined)
    return new AppError(code, message, { details: problems.length > 0 ? problems : null });
  return new AppError(code, `The job is at version ${currentVersion}, which If-Match does not allow`, {
    details: { current_etag: `"${currentVersion}"` },
  });
}

/** PATCH of a batch. `route` is its name. */
export function updateJobs({ jobs, idempotency }: JobUpdateServices, route: string): RouteHandler {
  return idempotent(idempotency, `PATCH ${route}`, async (request, response, tx) => {
    const read = () => ({
      items: readBatch(objectBody(request)),
      options: updateOptions(request, response, tx),
    });
    const { items, options } = await withAllProblems(read, async () => [
      ...problemsIn(
        () => readBatch(objectBody(request)),
        () => readWriteQuery(request.originalUrl),
      ),
      ...(await itemProblems(jobs, request.body, tx)),
    ]);
    const { results, ignored } = await jobs.updateBatch(principalOf(response), items, options);
    const updated = results.filter((result) => "job" in result).length;
    const counts = { updated_count: updated, failed_count: results.length - updated };
    return {
      data: { ...counts, results: results.map(toResultWire) },
      headers: ignoredFieldsHeader([...ignoredMembers(request), ...ignored]),
      changed: !options.dryRun && results.some(({ outcome }) => outcome === "updated"),
    };
  });
}

/** The members of a batch besides its jobs, such as a `dry_run` that belongs in the query. */
function ignoredMembers(request: Request): string[] {
  return Object.keys(objectBody(request)).filter((name) => name !== "jobs");
}

/** Returns the items of `body`. Throws BadRequestException if `jobs` is not a list of 1 to 100 items with valid Marking Numbers. */
function readBatch({ jobs }: JsonObject): UpdateItem[] {
  if (!Array.isArray(jobs)) {
    const message = `must be a list of 1 to ${MAX_BATCH_ITEMS} jobs`;
    throw invalid("body", "jobs", { code: jobs === undefined ? "required" : "invalid_type", message });
  }
  if (jobs.length === 0)
    throw invalid("body", "jobs", { code: "too_small", message: "must hold at least one job" });
  if (jobs.length > MAX_BATCH_ITEMS)
    throw invalid("body", "jobs", { code: "too_big", message: `must hold at most ${MAX_BATCH_ITEMS} jobs` });
  const problems = jobs.flatMap((item: unknown, index) => problemsOfItem(item, `jobs[${index}]`));
  if (problems.length > 0) throw badRequest(problems);
  return (jobs as JsonObject[]).map((body) => ({ markingNumber: body["marking_number"] as string, body }));
}

/** The values of the item are validated later, per item. */
function problemsOfItem(item: unknown, path: string): Problem[] {
  if (!isObject(item))
    return [{ location: "body", field: path, code: "invalid_type", message: "must be an object" }];
  const result = markingNumberValue.safeParse(item["marking_number"]);
  return result.success ? [] : toProblems(result.error, "body", `${path}.marking_number`);
}

/** Returns the problems of all items' fields, for a batch that is rejected as a whole. */
async function itemProblems(
  jobs: JobService,
  body: unknown,
  tx: Transaction | undefined,
): Promise<Problem[]> {
  const items: unknown = isObject(body) ? body["jobs"] : undefined;
  if (!Array.isArray(items) || items.length > MAX_BATCH_ITEMS) return [];
  const problems = await Promise.all(
    items.map(async (item: unknown, index) =>
      isObject(item) ? await jobs.fieldProblems(item, { path: `jobs[${index}].`, tx }) : [],
    ),
  );
  return problems.flat();
}

function updateOptions(request: Request, response: Response, tx: Transaction | undefined): BulkOptions {
  const { dry_run: dryRun } = readWriteQuery(request.originalUrl);
  return { dryRun, tx, actor: principalOf(response).actor, requestId: contextOf(response).requestId };
}

/** The result of a request for one job. Its version is the ETag. */
export function jobResult(job: JobRow): RouteResult & { headers: { ETag: string } } {
  return { data: toJobWire(job), headers: { ETag: `"${job.version}"` } };
}

function toResultWire(result: ItemResult): unknown {
  const { markingNumber: marking_number } = result;
  if ("job" in result) return { marking_number, success: true, job: toJobWire(result.job) };
  invariant("failure" in result, "items of a batch fail independently");
  const { message, code, problems } = result.failure;
  return {
    marking_number,
    success: false,
    error: message,
    error_code: code,
    error_details: problems.length > 0 ? problems : null,
  };
}

/** In characters. Clients limit the size of response headers, and a body may have many keys. */
const MAX_HEADER_LENGTH = 4_000;

/** Returns the first of `names` that fit, percent-encoded because the client chose them. */
function ignoredFieldsHeader(names: readonly string[]): Record<string, string> {
  let list = "";
  for (const name of names) {
    const next = (list === "" ? "" : ", ") + encodeURIComponent(name.slice(0, 100).toWellFormed());
    if (list.length + next.length > MAX_HEADER_LENGTH) break;
    list += next;
  }
  return list === "" ? {} : { "X-Ignored-Fields": list };
}

const ETAGS = /^\s*(?:W\/)?"[^"]*"(?:\s*,\s*(?:W\/)?"[^"]*")*\s*$/;

/** Returns the versions that `If-Match` allows; undefined for any. Weak ETags match nothing. */
function readIfMatch(header: string | undefined): readonly number[] | undefined {
  if (header === undefined || header.trim() === "*") return undefined;
  if (!ETAGS.test(header)) {
    const message = 'must be an ETag such as "3", or *';
    throw invalid("header", "If-Match", { code: "malformed", message });
  }
  const tags = header.match(/(?:W\/)?"[^"]*"/g) ?? [];
  return tags.filter((tag) => /^"[1-9]\d{0,8}"$/.test(tag)).map((tag) => Number(tag.slice(1, -1)));
}
