/** Strict parsing of query strings: parameters must be unique, not empty and valid percent-encoded UTF-8. */
import type { Problem } from "../platform/errors.ts";

export interface ParsedQuery {
  parameters: Map<string, string>;
  /** One problem per repeated, empty or malformed parameter. */
  problems: Problem[];
}

/**
 * Parses the parameters of `url` whose names are in `known` and ignores all others. Parameters in `lists` may be repeated;
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
    const problem = problemOf(name, value, earlierValues === undefined && parameters.has(name));
    if (problem) problems.push(problem);
    else parameters.set(name, earlierValues === undefined ? (value as string) : `${earlierValues},${value}`);
  }
  return { parameters, problems };
}

function problemOf(name: string, value: string | null, isRepeated: boolean): Problem | null {
  const problem = (code: string, message: string): Problem => ({
    location: "query",
    field: name,
    code,
    message,
  });
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
