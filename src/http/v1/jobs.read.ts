/** GET routes of jobs: list, one job, and its history. Parses the request, calls the service, formats the result. */
import { z } from "zod";
import { type EventService, toHistoryEntryWire } from "../../events/api.ts";
import {
  jobCursor,
  type JobFilterTree,
  type JobListQuery,
  type JobService,
  markingNumberValue,
  orderName,
  readJobCursor,
  textValue,
  toListedJobWire,
  toOrder,
} from "../../jobs/api.ts";
import { badRequest, invariant } from "../../platform/errors.ts";
import { principalOf } from "../context.ts";
import { matchesEtag, type RouteHandler } from "../json.ts";
import { jobResult } from "./jobs.update.ts";
import { linkHeader } from "./link-header.ts";
import {
  dateParameter,
  dateTimeParameter,
  invalid,
  markingNumberOf,
  pageParameter,
  pageSizeParameter,
  problemsIn,
  queryReader,
  readQuery,
  withAllProblems,
} from "./parameters.ts";

/** Not by Marking Number: pages in that order have no offset. */
export const sortFields = ["created_at", "updated_at", "scheduled_date"] as const;
const sortNames = sortFields.flatMap((field) => [field, `-${field}`] as const);

/** Returns the enum name for generated clients: `CREATED_AT_DESC` for `-created_at`. */
function toEnumName(sort: string): string {
  return sort.replace(/^-(.*)/, "$1_desc").toUpperCase();
}

/** Returns an optional parameter with its OpenAPI description. */
function optional<Value extends z.ZodType>(
  value: Value,
  description: string,
  example: string,
  rest: object = {},
) {
  return value.optional().meta({ ...rest, description, examples: [example] });
}

const filterText = (max: number, description: string, example: string) =>
  optional(textValue(max), description, example, { minLength: 1 });

export const listParameters = z.object({
  marking_number: optional(markingNumberValue, "Exact match.", "MN-2026-000123", { minLength: 1 }),
  batch_number: filterText(120, "Exact match.", "B-2026-118"),
  normalized_status: filterText(64, "Exact match on the status code; an unknown code returns 400.", "failed"),
  updated_at_from: optional(dateParameter, "Jobs updated on or after this day (UTC).", "2026-11-01"),
  updated_at_to: optional(dateParameter, "Jobs updated on or before this day (UTC).", "2026-11-30"),
  scheduled_date_from: optional(dateParameter, "Jobs scheduled on or after this date.", "2026-11-24"),
  scheduled_date_to: optional(dateParameter, "Jobs scheduled on or before this date.", "2026-11-30"),
  page: pageParameter,
  page_size: pageSizeParameter,
  cursor: optional(
    z.string(),
    "`pagination.next_cursor` of the previous page, unchanged. Cannot be combined with `page`.",
    "WzEsImpvYnMiLCItY3JlYXRlZF9hdCJd",
    { minLength: 1, maxLength: 512 },
  ),
  sort: optional(
    z.enum(sortNames, { error: `must be one of ${sortNames.join(", ")}` }),
    "Order of the list, with `-` for descending; newest first by default. Ties are ordered by ID and nulls come last.",
    "-updated_at",
    { "x-enum-varnames": sortNames.map(toEnumName) },
  ),
  updated_since: optional(dateTimeParameter, "Jobs updated at or after this time.", "2026-11-21T08:00:00Z"),
  failure_reason: filterText(64, "Exact match on the reason code.", "wrong_incomplete_address"),
  group_code: filterText(120, "Exact match.", "EAST-2"),
  q: filterText(
    255,
    "Search for the start of the Marking Number or postal code, or any part of the recipient name or delivery address.",
    "harbour",
  ),
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
    const read = () => readListRequest(url);
    const { query, page, pageSize } = await withAllProblems(read, async () => [
      ...problemsIn(read),
      ...(await jobs.statusProblems(readStatus(url))),
    ]);
    const statusProblems = await jobs.statusProblems(query.filter.normalizedStatus?.eq);
    if (statusProblems.length > 0) throw badRequest(statusProblems);
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

/** Ranges of days include both ends. For `updated_at` they cover whole days in UTC; it has millisecond precision. */
function toJobFilter(parameters: z.output<typeof listParameters>): JobFilterTree {
  const { updated_at_from: from, updated_at_to: to, updated_since: since } = parameters;
  const updatedAt = {
    gte: from === undefined ? since : `${from}T00:00:00Z`,
    lte: to && `${to}T23:59:59.999Z`,
  };
  return {
    ...equals("markingNumber", parameters.marking_number),
    ...equals("batchNumber", parameters.batch_number),
    ...equals("groupCode", parameters.group_code),
    ...equals("normalizedStatus", parameters.normalized_status),
    ...equals("failureReason", parameters.failure_reason),
    ...range("updatedAt", updatedAt),
    ...range("scheduledDate", { gte: parameters.scheduled_date_from, lte: parameters.scheduled_date_to }),
    search: parameters.q,
    ...(from !== undefined && since !== undefined && { and: [{ updatedAt: { gte: since } }] }),
  };
}

function equals(key: keyof JobFilterTree, value: string | undefined): JobFilterTree {
  return value === undefined ? {} : { [key]: { eq: value } };
}

function range(
  key: keyof JobFilterTree,
  bounds: { gte: string | undefined; lte: string | undefined },
): JobFilterTree {
  return bounds.gte === undefined && bounds.lte === undefined ? {} : { [key]: bounds };
}

/** Returns `normalized_status` of GET /v1/jobs even if other parameters are invalid; undefined if it is absent or malformed. */
function readStatus(url: string): string | undefined {
  const text = readQuery(url, new Set(["normalized_status"])).parameters.get("normalized_status");
  const parsed = listParameters.shape.normalized_status.safeParse(text);
  return parsed.success ? parsed.data : undefined;
}

function readCursor(text: string, sort: string | undefined) {
  const cursor = readJobCursor(text);
  const name = cursor && orderName(cursor.order);
  if (!cursor || !sortNames.some((sortName) => sortName === name)) {
    const message = "is not a cursor of this list; pass pagination.next_cursor unchanged";
    throw invalid("query", "cursor", { code: "malformed", message });
  }
  if (sort !== undefined && sort !== name)
    throw invalid("query", "sort", { code: "conflict", message: `must be ${name}, the order of the cursor` });
  return cursor;
}
