/** Query parameters: strict parsing, with all problems. */
import type { z } from "zod";
import { type Problem, problemIn } from "../../core/errors.ts";
import { parseInput, type ReadInput } from "../../operations/admit.ts";

/** Returns a function that validates the query of a URL against `schema` and ignores other parameters. Lists may be repeated. */
export function queryReader(schema: z.ZodObject): (url: string) => ReadInput {
  const members = Object.entries<z.ZodType>(schema.shape);
  const known = new Set(members.map(([name]) => name));
  const lists = new Set(
    members.flatMap(([name, member]) => (member.meta()?.["type"] === "array" ? [name] : [])),
  );
  return (url) => {
    const { parameters, problems: ofQuery } = readQuery(url, known, lists);
    const { values, problems } = parseInput(schema, Object.fromEntries(parameters), "query");
    return { values, problems: [...ofQuery, ...problems] };
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

const inQuery = problemIn("query");

function queryProblem(name: string, value: string | null, isRepeated: boolean): Problem | null {
  if (value === null) return inQuery(name, "malformed", "is not valid percent-encoded UTF-8");
  if (isRepeated) return inQuery(name, "repeated", "must be given once");
  if (value === "") return inQuery(name, "empty", "must not be empty; leave the parameter out instead");
  return null;
}

function decode(text: string): string | null {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    return null;
  }
}
