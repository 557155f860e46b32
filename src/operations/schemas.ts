/** Schemas that operations of all features use: values of responses with their OpenAPI descriptions, and parameters of requests. */
import { z } from "zod";
import { type Problem, problemIn } from "../core/errors.ts";
import type { IdPrefix } from "../core/ids.ts";

export const MAX_PAGE_SIZE = 100;
const MAX_INTEGER = 2_147_483_647;

/** Of an operation without a path, or without an input. */
export const none = z.object({});

const restForms = new WeakSet<z.ZodType>();

/** Marks a schema whose names and values are already those of REST, such as a job, so that they are not converted. */
export function inRestForm<Schema extends z.ZodType>(schema: Schema): Schema {
  restForms.add(schema);
  return schema;
}

export const isInRestForm = (schema: z.ZodType): boolean => restForms.has(schema);

/**
 * A code whose list may grow. OpenAPI describes it as text, so that generated clients accept a code that they don't
 * know; the codes of today are in `x-extensible-enum` and in the description.
 */
export function extensibleEnum<Code extends string>(codes: readonly Code[], description: string) {
  return z.enum(codes, { error: `must be one of ${codes.join(", ")}` }).meta({
    type: "string",
    "x-extensible-enum": [...codes],
    description: `${description}. More may be added. Now: ${codes.map((code) => `\`${code}\``).join(", ")}.`,
    examples: [codes[0]],
  });
}

export function idSchema(prefix: IdPrefix | "req", description: string, example: string) {
  return z
    .string()
    .regex(new RegExp(`^${prefix}_[0-7][0-9A-HJKMNP-TV-Z]{25}$`))
    .meta({ description, examples: [example] });
}

export const requestIdSchema = idSchema(
  "req",
  "Request ID, also in `X-Request-Id`",
  "req_01KAJQZ4T0W5H8M3N9PXR2VD7C",
);

export const dateTime = (description: string, example: string) =>
  z.iso.datetime({ precision: 3 }).meta({ description, examples: [example] });

/** A string with its OpenAPI description. */
export const text = (description: string, example: string) =>
  z.string().meta({ description, examples: [example] });

export const wholeNumber = (min: number, description: string, example: number) =>
  z
    .int()
    .min(min)
    .meta({ description, examples: [example] });

export const count = (description: string, example: number) => wholeNumber(0, description, example);

export const flag = (description: string) => z.boolean().meta({ description });

export const pageSize = wholeNumber(1, "Items per page", 10).max(MAX_PAGE_SIZE);

export const nextCursor = z
  .string()
  .nullable()
  .meta({ description: "Pass it as `cursor` to read the next page; null on the last page" });

/** Of a list that is read by cursor only. */
export const cursorPagination = z
  .object({
    pageSize,
    nextCursor,
  })
  .meta({ id: "CursorPagination", description: "The cursor of the next page." });

export const pageNumber = wholeNumber(1, "Page number", 1);

/** Of a list that is read by page number only. */
export const pagination = z
  .object({ page: pageNumber, pageSize, total: count("Number of items on all pages", 3) })
  .meta({ id: "Pagination", description: "Position of a page." });

/** A problem of a request, as errors list them. */
export const problemSchema = z
  .object({
    location: extensibleEnum(["body", "query", "path", "header"], "The part of the request"),
    field: text("Path of the parameter or member; empty for the whole body", "jobs[3].weight"),
    code: text("Machine-readable code of the problem", "invalid_type"),
    message: text("Human-readable description of the problem", "must be a number or null"),
  })
  .meta({
    id: "Problem",
    description: "A problem of a request, with its location.",
  }) satisfies z.ZodType<Problem>;

/** Messages of a zod schema for a member: what is wrong with null, with an absent member, and with another type. */
export const mustBe = (what: string) => ({
  error: ({ input }: { input?: unknown }) =>
    input === null ? "must not be null" : input === undefined ? "is required" : `must be ${what}`,
});

/** The schema of an integer from `min` to `max` in a path or query, written in decimal digits. */
export function integerParameter(min: number, max: number = MAX_INTEGER) {
  const message = `must be a whole number from ${min} to ${max}`;
  return z
    .string()
    .regex(/^\d{1,10}$/, { error: message })
    .transform(Number)
    .refine((value) => value >= min && value <= max, { error: message })
    .meta({ type: "integer", minimum: min, maximum: max });
}

/** Declares no default, because a client that always sends `page` could not use `cursor`. */
export const pageParameter = integerParameter(1)
  .optional()
  .meta({
    description: "Page number, from 1; by default the first page. A page past the end is empty.",
    examples: [2],
  });

export const pageSizeParameter = integerParameter(1, MAX_PAGE_SIZE)
  .default(10)
  .meta({ default: 10, description: "Items per page.", examples: [25] });

export const malformedPage = {
  summary: "A malformed parameter",
  problems: [
    problemIn("query")("page", "invalid_format", `must be a whole number from 1 to ${MAX_INTEGER}`),
    problemIn("query")("page_size", "invalid_value", `must be a whole number from 1 to ${MAX_PAGE_SIZE}`),
  ],
};

/** Returns an optional parameter with its OpenAPI description. */
export function optionalParameter<Value extends z.ZodType>(
  value: Value,
  description: string,
  example: string | readonly string[],
  rest: object = {},
) {
  return value.optional().meta({ ...rest, description, examples: [example] });
}

export const MALFORMED_CURSOR = "is not a cursor of this list; pass pagination.next_cursor unchanged";
export const cursorLength = { minLength: 1, maxLength: 512 };

/** Returns the parameter of a list without page numbers. `read` returns null for a cursor of another list. */
export function cursorParameter(
  read: (cursor: string) => unknown,
  {
    example = "WzEsImpvYnMiLCItY3JlYXRlZF9hdCJd",
    description = "`pagination.next_cursor` of the previous page, unchanged.",
    code = "invalid_value",
  } = {},
) {
  const cursor = z
    .string()
    .refine((value) => read(value) !== null, { error: MALFORMED_CURSOR, params: { code } });
  return optionalParameter(cursor, description, example, cursorLength);
}

export const MAX_LIST_ITEMS = 100;

/** The schema of 1 to 100 values, separated by commas; a repeated parameter is joined. */
export function listOf<Value extends z.ZodType<unknown, string>>(value: Value) {
  const list = z.array(value).max(MAX_LIST_ITEMS, { error: `must have at most ${MAX_LIST_ITEMS} values` });
  return z
    .string()
    .transform((joined) => joined.split(","))
    .pipe(list);
}

/** The same of `names`. */
export function listParameter<Name extends string>(names: readonly Name[]) {
  return listOf(
    z.enum(names, {
      error: ({ input }) => `must be one of ${names.join(", ")}; got ${JSON.stringify(input).slice(0, 100)}`,
    }),
  );
}

/** The OpenAPI description of a list parameter. */
export const listForm = {
  type: "array" as const,
  items: { type: "string" },
  minItems: 1,
  param: { style: "form" as const, explode: false },
};

/** The same. `keyword` names its values as closed (`enum`) or open. */
export const listMeta = (names: readonly string[], keyword: "enum" | "x-extensible-enum") => ({
  ...listForm,
  items: { type: "string", [keyword]: [...names] },
});

/**
 * The OpenAPI description of a list parameter that was a single text in an earlier release, whose clients send text. Our own clients
 * take a list too.
 */
export const textOrListForm = { type: "string", "x-comma-separated": true };

const DATE_TIME_ERROR = "must be an ISO 8601 timestamp with a zone, such as 2026-11-21T08:00:00Z";
/** Limited to what PostgreSQL accepts: years 0001 to 9999, up to nine fractional digits, offsets up to 15:59. */
export const dateTimeParameter = z.iso
  .datetime({ offset: true, error: DATE_TIME_ERROR, abort: true })
  .regex(/^(?!0000)[^.]{19}(\.\d{1,9})?(Z|[+-](0\d|1[0-5]):\d\d)$/, { error: DATE_TIME_ERROR })
  .meta({ type: "string", format: "date-time" });

export const booleanParameter = z
  .enum(["true", "false"], { error: "must be true or false" })
  .transform((value) => value === "true")
  .meta({ type: "boolean" });
