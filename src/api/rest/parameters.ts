/** Query and path parameters: zod schemas, whose input is always a string, and strict parsing. Collects all problems of a request. */
import type { Request } from "express";
import { z } from "zod";
import { AppError, badRequest, type Problem } from "../../core/errors.ts";
import { toProblems } from "../../core/zod-problems.ts";
import { dateValue, markingNumberValue } from "../../jobs/api.ts";

export const MAX_PAGE_SIZE = 100;
const MAX_INTEGER = 2_147_483_647;

/** Returns the schema of an integer from `min` to `max`, written in decimal digits. */
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
/** Returns an optional parameter with its OpenAPI description. */
export function optionalParameter<Value extends z.ZodType>(
  value: Value,
  description: string,
  example: string,
  rest: object = {},
) {
  return value.optional().meta({ ...rest, description, examples: [example] });
}

export const MALFORMED_CURSOR = "is not a cursor of this list; pass pagination.next_cursor unchanged";
export const cursorLength = { minLength: 1, maxLength: 512 };
/** For lists without page numbers. */
export const cursorParameter = optionalParameter(
  z.string(),
  "`pagination.next_cursor` of the previous page, unchanged.",
  "WzEsImpvYnMiLCItY3JlYXRlZF9hdCJd",
  cursorLength,
);

/** Returns the schema of a list of `names`, separated by commas; `queryReader` joins a repeated parameter. */
export function listParameter<Name extends string>(names: readonly Name[]) {
  const one = z.enum(names, {
    error: ({ input }) => `must be one of ${names.join(", ")}; got ${JSON.stringify(input).slice(0, 100)}`,
  });
  return z
    .string()
    .transform((text) => text.split(","))
    .pipe(z.array(one));
}

/** The OpenAPI description of a list parameter. `keyword` names its values as closed (`enum`) or open. */
export const listMeta = (names: readonly string[], keyword: "enum" | "x-extensible-enum") => ({
  type: "array" as const,
  items: { type: "string", [keyword]: [...names] },
  minItems: 1,
  param: { style: "form" as const, explode: false },
});

export const dateParameter = dateValue;
const DATE_TIME_ERROR = "must be an ISO 8601 timestamp with a zone, such as 2026-11-21T08:00:00Z";
/** Limited to what PostgreSQL accepts: years 0001 to 9999, up to nine fractional digits, offsets up to 15:59. */
export const dateTimeParameter = z.iso
  .datetime({ offset: true, error: DATE_TIME_ERROR, abort: true })
  .regex(/^(?!0000)[^.]{19}(\.\d{1,9})?(Z|[+-](0\d|1[0-5]):\d\d)$/, { error: DATE_TIME_ERROR })
  .meta({ type: "string", format: "date-time" });
export const booleanParameter = z
  .enum(["true", "false"], { error: "must be true or false" })
  .transform((text) => text === "true")
  .meta({ type: "boolean" });

/**
 * Returns a function that validates the query of a URL against `schema` and ignores other parameters. It throws
 * BadRequestException with all problems. `lists` names the parameters that may be repeated.
 */
export function queryReader<Schema extends z.ZodObject>(
  schema: Schema,
  lists: readonly string[] = [],
): (url: string) => z.output<Schema> {
  const known = new Set(Object.keys(schema.shape));
  const repeatable = new Set(lists);
  return (url) => {
    const query = readQuery(url, known, repeatable);
    const result = schema.safeParse(Object.fromEntries(query.parameters));
    const problems = [...query.problems, ...(result.error ? toProblems(result.error, "query") : [])];
    if (problems.length > 0) throw badRequest(problems);
    return result.data as z.output<Schema>;
  };
}

export interface ParsedQuery {
  parameters: Map<string, string>;
  /** One problem per repeated, empty or malformed parameter. */
  problems: Problem[];
}

/**
 * Strictly parses the parameters of `url` whose names are in `known` and ignores all others. Parameters in `lists` may be repeated;
 * their values are joined with commas.
 */
export function readQuery(
  url: string,
  known: ReadonlySet<string>,
  lists: ReadonlySet<string> = new Set(),
): ParsedQuery {
  const queryStart = url.indexOf("?");
  const parameters = new Map<string, string>();
  const problems: Problem[] = [];
  for (const part of queryStart === -1 ? [] : url.slice(queryStart + 1).split("&")) {
    const [rawName = "", ...rest] = part.split("=");
    const name = decode(rawName);
    if (name === null || !known.has(name)) continue;
    const value = decode(rest.join("="));
    const earlierValues = lists.has(name) ? parameters.get(name) : undefined;
    const problem = queryProblem(name, value, earlierValues === undefined && parameters.has(name));
    if (problem) problems.push(problem);
    else parameters.set(name, earlierValues === undefined ? (value as string) : `${earlierValues},${value}`);
  }
  return { parameters, problems };
}

function queryProblem(field: string, value: string | null, isRepeated: boolean): Problem | null {
  const problem = (code: string, message: string) => ({ location: "query", field, code, message }) as const;
  if (value === null) return problem("malformed", "is not valid percent-encoded UTF-8");
  if (isRepeated) return problem("repeated", "must be given once");
  if (value === "") return problem("empty", "must not be empty; leave the parameter out instead");
  return null;
}

function decode(text: string): string | null {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    return null;
  }
}

/** Returns the Marking Number of the path. Throws BadRequestException if it is empty, too long or not valid text. */
export function markingNumberOf(request: Request): string {
  const result = markingNumberValue.safeParse(request.params["markingNumber"] ?? "");
  if (result.success) return result.data;
  const problems = toProblems(result.error, "path", "markingNumber");
  throw badRequest(problems, `The Marking Number ${problems[0]?.message ?? "is invalid"}`);
}

/** Returns a BadRequestException with one problem. */
export function invalid(
  location: Problem["location"],
  field: string,
  problem: Pick<Problem, "code" | "message">,
): AppError {
  return badRequest([{ location, field, ...problem }]);
}

/**
 * Returns the result of `read`, which stops at the first invalid part of the request. If it throws a 400 with problems,
 * throws a BadRequestException with the problems of all parts, from `findAllProblems`.
 */
export async function withAllProblems<Value>(
  read: () => Value,
  findAllProblems: () => Promise<readonly Problem[]>,
): Promise<Value> {
  try {
    return read();
  } catch (error) {
    const firstProblems = problemsOf(error);
    const problems = firstProblems.length === 0 ? [] : await findAllProblems();
    throw problems.length > firstProblems.length ? badRequest(problems) : error;
  }
}

/** Returns the problems that `reads` throw, in order. */
export function problemsIn(...reads: readonly (() => unknown)[]): Problem[] {
  return reads.flatMap((read) => {
    try {
      read();
      return [];
    } catch (error) {
      return problemsOf(error);
    }
  });
}

/** Returns the problems of a BadRequestException; none for other errors. */
export function problemsOf(error: unknown): readonly Problem[] {
  const isBadRequest = error instanceof AppError && error.code === "BadRequestException";
  return isBadRequest && Array.isArray(error.details) ? (error.details as Problem[]) : [];
}
