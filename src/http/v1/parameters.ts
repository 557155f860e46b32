/** zod schemas of query parameters. Their input is always a string. */
import { z } from "zod";
import { badRequest } from "../../platform/errors.ts";
import { toProblems } from "../../platform/zod-problems.ts";
import { readQuery } from "../query-string.ts";
import { dateValue } from "../../jobs/api.ts";

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
export const dateParameter = dateValue;
const DATE_TIME_ERROR = "must be an ISO 8601 timestamp with a zone, such as 2026-11-21T08:00:00Z";
/** Limited to what PostgreSQL accepts: years 0001 to 9999, up to nine fractional digits, offsets up to 15:59. */
export const dateTimeParameter = z.iso
  .datetime({ offset: true, error: DATE_TIME_ERROR })
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
