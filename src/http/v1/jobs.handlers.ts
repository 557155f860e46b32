/** Handlers of the job routes: parse the request, call the service, convert the result to the wire format. */
import type { Request, Response } from "express";
import { type EventService, toHistoryEntryWire } from "../../events/api.ts";
import {
  type ItemResult,
  type JobRow,
  type JobService,
  toJobWire,
  toListedJobWire,
  type UpdateOptions,
} from "../../jobs/api.ts";
import type { Database, Transaction } from "../../platform/postgres/database.ts";
import { invariant, type Problem } from "../../platform/errors.ts";
import type { RouteResult, ChangeHandler, RouteHandler } from "../route-result.ts";
import { isObject, objectBody } from "../body.ts";
import { contextOf, principalOf } from "../context.ts";
import { matchesEtag } from "../etag.ts";
import { MAX_BATCH, readBatch } from "./batch.schema.ts";
import {
  cursorAfter,
  readHistoryQuery,
  readIfMatch,
  readListRequest,
  readMarkingNumber,
  readStatus,
  readWriteQuery,
} from "./jobs.schema.ts";
import { linkHeader } from "./link-header.ts";
import { withAllProblems, problemsIn } from "./request-problems.ts";

export interface JobHandlerServices {
  database: Database;
  jobs: JobService;
  events: EventService;
  /** Prefix of the URLs in `Link`: empty, or the public URL of the service. */
  baseUrl: string;
}

export function listJobs({ jobs, baseUrl }: JobHandlerServices): RouteHandler {
  return async (request, response) => {
    const url = request.originalUrl;
    const { query, sort, page, pageSize } = await withAllProblems(
      () => readListRequest(url),
      async () => {
        const status = readStatus(url);
        const unknown = status === undefined ? [] : await jobs.statusProblems(status);
        return [...problemsIn(() => readListRequest(url)), ...unknown];
      },
    );
    const { items, total, hasMore } = await jobs.list(principalOf(response), query);
    const last = items.at(-1);
    const nextCursor = hasMore && last ? cursorAfter(last, sort) : null;
    const pagination = {
      ...(page !== null && { page }),
      page_size: pageSize,
      total,
      next_cursor: nextCursor,
    };
    const headers = linkHeader(baseUrl + url, { page, pageSize, total, nextCursor });
    return { data: { items: items.map(toListedJobWire), pagination }, headers };
  };
}

export function getJob({ jobs }: JobHandlerServices): RouteHandler {
  return async (request, response) => {
    const result = jobResult(await jobs.get(principalOf(response), markingNumberOf(request)));
    const etags = request.get("if-none-match");
    return { ...result, isNotModified: etags !== undefined && matchesEtag(etags, result.headers.ETag) };
  };
}

export function getJobHistory({ jobs, events, baseUrl }: JobHandlerServices): RouteHandler {
  return async (request, response) => {
    const { page = 1, page_size: pageSize } = readHistoryQuery(request.originalUrl);
    const principal = principalOf(response);
    const { marking_number: number } = await jobs.get(principal, markingNumberOf(request));
    const { items, total } = await events.history(principal, number, {
      offset: (page - 1) * pageSize,
      limit: pageSize,
    });
    const headers = linkHeader(baseUrl + request.originalUrl, { page, pageSize, total, nextCursor: null });
    const pagination = { page, page_size: pageSize, total };
    return { data: { items: items.map((item) => toHistoryEntryWire(item, principal)), pagination }, headers };
  };
}

export function updateJob({ jobs }: JobHandlerServices): ChangeHandler {
  return async (request, response, tx) => {
    const read = () => ({
      command: {
        markingNumber: markingNumberOf(request),
        body: objectBody(request),
        expectedVersions: readIfMatch(request.get("if-match")),
      },
      options: updateOptions(request, response, tx),
    });
    const { command, options } = await withAllProblems(read, async () => [
      ...problemsIn(
        () => markingNumberOf(request),
        () => objectBody(request),
        () => readIfMatch(request.get("if-match")),
        () => readWriteQuery(request.originalUrl),
      ),
      ...(isObject(request.body) ? await jobs.fieldProblems(request.body, { tx }) : []),
    ]);
    const updated = await jobs.updateOne(principalOf(response), command, options);
    const { data, headers } = jobResult(updated.job);
    const isPreview = options.dryRun && updated.changed;
    return {
      data,
      // The version of a dry run does not exist, and another change may get its number.
      headers: { ...(!isPreview && headers), ...ignoredFieldsHeader(updated.ignored) },
      changed: updated.changed && !options.dryRun,
    };
  };
}

export function updateJobs({ jobs }: JobHandlerServices): ChangeHandler {
  return async (request, response, tx) => {
    const reads = [() => readBatch(objectBody(request)), () => readWriteQuery(request.originalUrl)];
    const { items, options } = await withAllProblems(
      () => ({ items: readBatch(objectBody(request)), options: updateOptions(request, response, tx) }),
      async () => [...problemsIn(...reads), ...(await itemProblems(jobs, request.body, tx))],
    );
    const { results, ignored } = await jobs.updateBatch(principalOf(response), items, options);
    const updated = results.filter((result) => "job" in result).length;
    const counts = { updated_count: updated, failed_count: results.length - updated };
    return {
      data: { ...counts, results: results.map(toResultWire) },
      headers: ignoredFieldsHeader(ignored),
      changed: !options.dryRun && results.some(({ outcome }) => outcome === "updated"),
    };
  };
}

/** Returns the problems of all items' fields, for a batch that is rejected as a whole. */
async function itemProblems(
  jobs: JobService,
  body: unknown,
  tx: Transaction | undefined,
): Promise<Problem[]> {
  const items: unknown = isObject(body) ? body["jobs"] : undefined;
  if (!Array.isArray(items) || items.length > MAX_BATCH) return [];
  const problems = await Promise.all(
    items.map(async (item: unknown, index) =>
      isObject(item) ? await jobs.fieldProblems(item, { path: `jobs[${index}].`, tx }) : [],
    ),
  );
  return problems.flat();
}

function updateOptions(request: Request, response: Response, tx: Transaction | undefined): UpdateOptions {
  const { dry_run: dryRun } = readWriteQuery(request.originalUrl);
  return { dryRun, tx, actor: principalOf(response).actor, requestId: contextOf(response).requestId };
}

function markingNumberOf(request: Request): string {
  return readMarkingNumber((request.params as { markingNumber?: string }).markingNumber ?? "");
}

function jobResult(job: JobRow): RouteResult & { headers: { ETag: string } } {
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
