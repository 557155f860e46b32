/** Query and path parameters: zod schemas, whose input is always a string, and strict parsing. Collects all problems of a request. */
import type { Request } from "express";
import type { z } from "zod";
import { type AppError, badRequest, type Problem } from "../../core/errors.ts";
import { toProblems } from "../../core/zod-problems.ts";
import { dateValue, markingNumberValue } from "../../jobs/api.ts";
import { problemsOf } from "../../operations/admit.ts";

export const dateParameter = dateValue;

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
