/** Queries, paths and headers of the job routes, for validation and for OpenAPI. */
import { z } from "zod";
import { badRequest, type Problem } from "../../platform/errors.ts";
import { decodeCursor, encodeCursor } from "../../platform/cursor.ts";
import { toProblems } from "../../platform/zod-problems.ts";
import { readQuery } from "../query-string.ts";
import {
  dateValue,
  type JobPosition,
  type JobRow,
  type JobSort,
  jobSortFields,
  markingNumberValue,
  newestFirst,
  type OffsetListQuery,
  textValue,
} from "../../jobs/api.ts";
import { toIsoTime } from "../../platform/time.ts";
import {
  dateParameter,
  dateTimeParameter,
  pageParameter,
  pageSizeParameter,
  queryReader,
  booleanParameter,
} from "./parameters.ts";

const sortNames = jobSortFields.flatMap((field) => [field, `-${field}`] as const);

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

export const writeParameters = z.object({
  dry_run: booleanParameter.default(false).meta({
    default: false,
    description: "Validate and return the result without changing anything.",
    examples: [true],
  }),
});
export const historyParameters = z.object({ page: pageParameter, page_size: pageSizeParameter });

export const readWriteQuery = queryReader(writeParameters);
export const readHistoryQuery = queryReader(historyParameters);
const readListQuery = queryReader(listParameters);

export interface ListRequest {
  query: OffsetListQuery;
  sort: JobSort;
  pageSize: number;
  /** Null if the list is read by cursor. */
  page: number | null;
}

/** Parses the query of GET /v1/jobs. Throws BadRequestException with all problems. */
export function readListRequest(url: string): ListRequest {
  const parameters = readListQuery(url);
  const { sort: sortParameter, cursor, page = 1, page_size: pageSize } = parameters;
  if (cursor !== undefined && parameters.page !== undefined)
    throw parameterProblem("page", "conflict", "cannot be combined with cursor");
  const start =
    cursor === undefined
      ? { sort: toSort(sortParameter), from: { offset: (page - 1) * pageSize } }
      : readCursor(cursor, sortParameter);
  const filter = {
    markingNumber: parameters.marking_number,
    batchNumber: parameters.batch_number,
    groupCode: parameters.group_code,
    normalizedStatus: parameters.normalized_status,
    failureReason: parameters.failure_reason,
    updatedAtFrom: parameters.updated_at_from,
    updatedAtTo: parameters.updated_at_to,
    updatedSince: parameters.updated_since,
    scheduledDateFrom: parameters.scheduled_date_from,
    scheduledDateTo: parameters.scheduled_date_to,
    search: parameters.q,
  };
  return {
    query: { filter, sort: start.sort, from: start.from, limit: pageSize },
    sort: start.sort,
    pageSize,
    page: cursor === undefined ? page : null,
  };
}

/** Returns `normalized_status` of GET /v1/jobs even if other parameters are invalid; undefined if it is absent or malformed. */
export function readStatus(url: string): string | undefined {
  const text = readQuery(url, new Set(["normalized_status"])).parameters.get("normalized_status");
  const parsed = listParameters.shape.normalized_status.safeParse(text);
  return parsed.success ? parsed.data : undefined;
}

/** Returns the cursor after `row`. It contains the order, so clients need not repeat `sort`. */
export function cursorAfter(row: JobRow, sort: JobSort): string {
  const value = row[sort.field];
  const text = value !== null && sort.field !== "scheduled_date" ? toIsoTime(value) : value;
  return encodeCursor("jobs", [sortName(sort), text, row.id]);
}

/** Times as `cursorAfter` writes them. PostgreSQL does not accept the year 0000. */
const dateTimeValue = z.iso.datetime({ precision: 3 }).regex(/^(?!0000)/);
const cursorShape = z.union([
  z.tuple([z.enum(["scheduled_date", "-scheduled_date"]), dateValue.nullable(), z.uuid()]),
  z.tuple([z.enum(["created_at", "-created_at", "updated_at", "-updated_at"]), dateTimeValue, z.uuid()]),
]);

function readCursor(
  cursor: string,
  sortParameter: string | undefined,
): { sort: JobSort; from: { position: JobPosition } } {
  const decoded = decodeCursor("jobs", cursorShape, cursor);
  if (!decoded)
    throw parameterProblem(
      "cursor",
      "malformed",
      "is not a cursor of this list; pass pagination.next_cursor unchanged",
    );
  const [name, value, id] = decoded;
  if (sortParameter !== undefined && sortParameter !== name)
    throw parameterProblem("sort", "conflict", `must be ${name}, the order of the cursor`);
  return { sort: toSort(name), from: { position: { value, id } } };
}

function toSort(name: string | undefined): JobSort {
  if (name === undefined) return newestFirst;
  const descending = name.startsWith("-");
  return { field: (descending ? name.slice(1) : name) as JobSort["field"], descending };
}

function sortName({ field, descending }: JobSort): string {
  return `${descending ? "-" : ""}${field}`;
}

/** Validates the Marking Number of a path. Throws BadRequestException if it is empty, too long or not valid text. */
export function readMarkingNumber(text: string): string {
  const result = markingNumberValue.safeParse(text);
  if (result.success) return result.data;
  const problems = toProblems(result.error, "path", "markingNumber");
  throw badRequest(problems, `The Marking Number ${problems[0]?.message ?? "is invalid"}`);
}

const ETAGS = /^\s*(?:W\/)?"[^"]*"(?:\s*,\s*(?:W\/)?"[^"]*")*\s*$/;

/** Returns the versions that `If-Match` allows; undefined for any. Weak ETags match nothing. */
export function readIfMatch(header: string | undefined): readonly number[] | undefined {
  if (header === undefined || header.trim() === "*") return undefined;
  if (!ETAGS.test(header)) {
    const problem: Problem = {
      location: "header",
      field: "If-Match",
      code: "malformed",
      message: 'must be an ETag such as "3", or *',
    };
    throw badRequest([problem]);
  }
  const tags = header.match(/(?:W\/)?"[^"]*"/g) ?? [];
  return tags.filter((tag) => /^"[1-9]\d{0,8}"$/.test(tag)).map((tag) => Number(tag.slice(1, -1)));
}

function parameterProblem(field: string, code: string, message: string) {
  return badRequest([{ location: "query", field, code, message }]);
}
