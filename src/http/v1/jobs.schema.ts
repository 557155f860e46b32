/** What the job routes take in their queries, paths and headers: checked with it, and described by it in OpenAPI. */
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

/** `-created_at` as generated clients name it: `CREATED_AT_DESC`. */
function toEnumName(sort: string): string {
  return sort.replace(/^-(.*)/, "$1_desc").toUpperCase();
}

/** An optional parameter, with what OpenAPI says of it. */
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
  normalized_status: filterText(64, "Exact match on the status code; an unknown code is 400.", "failed"),
  updated_at_from: optional(dateParameter, "Jobs updated on or after this day (UTC).", "2026-11-01"),
  updated_at_to: optional(dateParameter, "Jobs updated on or before this day (UTC).", "2026-11-30"),
  scheduled_date_from: optional(dateParameter, "Jobs scheduled on or after this date.", "2026-11-24"),
  scheduled_date_to: optional(dateParameter, "Jobs scheduled on or before this date.", "2026-11-30"),
  page: pageParameter,
  page_size: pageSizeParameter,
  cursor: optional(
    z.string(),
    "Goes on where the page before ended: its `pagination.next_cursor`, as it came. Does not go with `page`.",
    "WzEsImpvYnMiLCItY3JlYXRlZF9hdCJd",
    { minLength: 1, maxLength: 512 },
  ),
  sort: optional(
    z.enum(sortNames, { error: `must be one of ${sortNames.join(", ")}` }),
    "Order of the list, `-` for descending; the id breaks ties and nulls come last. Without it: newest first.",
    "-updated_at",
    { "x-enum-varnames": sortNames.map(toEnumName) },
  ),
  updated_since: optional(
    dateTimeParameter,
    "Jobs updated at or after this instant.",
    "2026-11-21T08:00:00Z",
  ),
  failure_reason: filterText(64, "Exact match on the reason code.", "wrong_incomplete_address"),
  group_code: filterText(120, "Exact match.", "EAST-2"),
  q: filterText(
    255,
    "Search: the beginning of the Marking Number or postal code, or a part of the recipient's name or address.",
    "harbour",
  ),
});

export const writeParameters = z.object({
  dry_run: booleanParameter.default(false).meta({
    default: false,
    description: "Validates and answers as if done, and changes nothing.",
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
  /** Null: the list is read by cursor. */
  page: number | null;
}

/** GET /v1/jobs: what is asked for. Throws BadRequestException with every problem of the query. */
export function readListRequest(url: string): ListRequest {
  const parameters = readListQuery(url);
  const { sort: requestedSort, cursor, page = 1, page_size: pageSize } = parameters;
  if (cursor !== undefined && parameters.page !== undefined)
    throw parameterProblem("page", "conflict", "does not go with cursor");
  const start =
    cursor === undefined
      ? { sort: toSort(requestedSort), from: { offset: (page - 1) * pageSize } }
      : readCursor(cursor, requestedSort);
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

/** `normalized_status` of GET /v1/jobs, also if other parameters are wrong; undefined if it is absent or no text of a code. */
export function readStatus(url: string): string | undefined {
  const text = readQuery(url, new Set(["normalized_status"])).parameters.get("normalized_status");
  const parsed = listParameters.shape.normalized_status.safeParse(text);
  return parsed.success ? parsed.data : undefined;
}

/** The cursor that goes on after `row`: it carries the order too, so that only it has to be handed back. */
export function cursorAfter(row: JobRow, sort: JobSort): string {
  const value = row[sort.field];
  const text = value !== null && sort.field !== "scheduled_date" ? toIsoTime(value) : value;
  return encodeCursor("jobs", [sortName(sort), text, row.id]);
}

/** Instants as `cursorAfter` writes them; the year 0000 is none that PostgreSQL could read. */
const dateTimeValue = z.iso.datetime({ precision: 3 }).regex(/^(?!0000)/);
const cursorShape = z.union([
  z.tuple([z.enum(["scheduled_date", "-scheduled_date"]), dateValue.nullable(), z.uuid()]),
  z.tuple([z.enum(["created_at", "-created_at", "updated_at", "-updated_at"]), dateTimeValue, z.uuid()]),
]);

function readCursor(
  cursor: string,
  requestedSort: string | undefined,
): { sort: JobSort; from: { position: JobPosition } } {
  const decoded = decodeCursor("jobs", cursorShape, cursor);
  if (!decoded)
    throw parameterProblem(
      "cursor",
      "malformed",
      "is not a cursor of this list; use pagination.next_cursor as it came",
    );
  const [name, value, id] = decoded;
  if (requestedSort !== undefined && requestedSort !== name)
    throw parameterProblem("sort", "conflict", `must stay ${name} along one cursor`);
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

/** The Marking Number in a path. An empty one, one over 120 and one that is no text are 400. */
export function readMarkingNumber(text: string): string {
  const result = markingNumberValue.safeParse(text);
  if (result.success) return result.data;
  const problems = toProblems(result.error, "path", "markingNumber");
  throw badRequest(problems, `The Marking Number ${problems[0]?.message ?? "is wrong"}`);
}

const ETAGS = /^\s*(?:W\/)?"[^"]*"(?:\s*,\s*(?:W\/)?"[^"]*")*\s*$/;

/** `If-Match` as the versions that it allows; undefined: any. A weak tag matches nothing. */
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
