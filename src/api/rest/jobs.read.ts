/** GET routes of jobs: list, one job, and its history. Parses the request, calls the service, formats the result. */
import { z } from "zod";
import { type EventService, toHistoryEntryWire } from "../../events/api.ts";
import {
  jobCursor,
  type JobListQuery,
  type JobService,
  orderName,
  readJobCursor,
  toListedJobWire,
  toOrder,
} from "../../jobs/api.ts";
import { invariant } from "../../core/errors.ts";
import { principalOf } from "../context.ts";
import { matchesEtag, type RouteHandler } from "../json.ts";
import { filterParameters, readWithStatus, toJobFilter } from "./jobs.filter.ts";
import { jobResult } from "./jobs.update.ts";
import { linkHeader } from "./link-header.ts";
import { invalid, markingNumberOf, queryReader } from "./parameters.ts";
import {
  cursorLength,
  MALFORMED_CURSOR,
  optionalParameter,
  pageParameter,
  pageSizeParameter,
} from "../../operations/schemas.ts";

/** Not by Marking Number: pages in that order have no offset. */
export const sortFields = ["created_at", "updated_at", "scheduled_date"] as const;
const sortNames = sortFields.flatMap((field) => [field, `-${field}`] as const);

/** Returns the enum name for generated clients: `CREATED_AT_DESC` for `-created_at`. */
function toEnumName(sort: string): string {
  return sort.replace(/^-(.*)/, "$1_desc").toUpperCase();
}

/** The contract's parameters come first. */
const { updated_since, failure_reason, group_code, q, ...contractFilters } = filterParameters.shape;

export const listParameters = z.object({
  ...contractFilters,
  page: pageParameter,
  page_size: pageSizeParameter,
  cursor: optionalParameter(
    z.string(),
    "`pagination.next_cursor` of the previous page, unchanged. Cannot be combined with `page`.",
    "WzEsImpvYnMiLCItY3JlYXRlZF9hdCJd",
    cursorLength,
  ),
  sort: optionalParameter(
    z.enum(sortNames, { error: `must be one of ${sortNames.join(", ")}` }),
    "Order of the list, with `-` for descending; newest first by default. Ties are ordered by ID and nulls come last.",
    "-updated_at",
    { "x-enum-varnames": sortNames.map(toEnumName) },
  ),
  updated_since,
  failure_reason,
  group_code,
  q,
});

export const historyParameters = z.object({ page: pageParameter, page_size: pageSizeParameter });

const readHistoryQuery = queryReader(historyParameters);
const readListQuery = queryReader(listParameters);

export interface JobReadServices {
  jobs: JobService;
  events: EventService;
  /** Prefix of the URLs in `Link`: empty, or the public URL of the service. */
  baseUrl: string;
}

export function listJobs({ jobs, baseUrl }: JobReadServices): RouteHandler {
  return async (request, response) => {
    const url = request.originalUrl;
    const { query, page, pageSize } = await readWithStatus(jobs, url, {
      read: () => readListRequest(url),
      statusOf: ({ query: { filter } }) => filter.normalizedStatus?.eq,
    });
    const { items, hasNext, total } = await jobs.list(principalOf(response), query);
    invariant(total !== null, "the query includes the total");
    const last = items.at(-1);
    const nextCursor = hasNext && last ? jobCursor(query.order, last) : null;
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

export function getJob({ jobs }: JobReadServices): RouteHandler {
  return async (request, response) => {
    const result = jobResult(await jobs.get(principalOf(response), markingNumberOf(request)));
    const etags = request.get("if-none-match");
    return { ...result, isNotModified: etags !== undefined && matchesEtag(etags, result.headers.ETag) };
  };
}

export function getJobHistory({ events, baseUrl }: JobReadServices): RouteHandler {
  return async (request, response) => {
    const { page = 1, page_size: pageSize } = readHistoryQuery(request.originalUrl);
    const principal = principalOf(response);
    const historyPage = { limit: pageSize, offset: (page - 1) * pageSize, beforeSequence: null };
    const { items, total } = await events.history(principal, markingNumberOf(request), historyPage);
    const headers = linkHeader(baseUrl + request.originalUrl, { page, pageSize, total, nextCursor: null });
    const pagination = { page, page_size: pageSize, total };
    return { data: { items: items.map((item) => toHistoryEntryWire(item, principal)), pagination }, headers };
  };
}

interface ListRequest {
  query: JobListQuery;
  pageSize: number;
  /** Null if the list is read by cursor. */
  page: number | null;
}

/** Parses the query of GET /v1/jobs. Throws BadRequestException with all problems. */
function readListRequest(url: string): ListRequest {
  const parameters = readListQuery(url);
  const { sort, cursor, page = 1, page_size: limit } = parameters;
  const filter = toJobFilter(parameters);
  const include = { items: true, organizations: false, total: true };
  if (cursor === undefined) {
    const order = toOrder(sort ?? "-created_at");
    const query = { filter, order, page: { limit, offset: (page - 1) * limit }, include };
    return { query, pageSize: limit, page };
  }
  if (parameters.page !== undefined)
    throw invalid("query", "page", { code: "conflict", message: "cannot be combined with cursor" });
  const { order, position } = readCursor(cursor, sort);
  const query = { filter, order, page: { direction: "forward", limit, position }, include } as const;
  return { query, pageSize: limit, page: null };
}

function readCursor(text: string, sort: string | undefined) {
  const cursor = readJobCursor(text);
  const name = cursor && orderName(cursor.order);
  if (!cursor || !sortNames.some((sortName) => sortName === name)) {
    throw invalid("query", "cursor", { code: "malformed", message: MALFORMED_CURSOR });
  }
  if (sort !== undefined && sort !== name)
    throw invalid("query", "sort", { code: "conflict", message: `must be ${name}, the order of the cursor` });
  return cursor;
}
