/** Query strings, read strictly: a parameter stands once, is not empty and is valid percent-encoded UTF-8. */
import type { Problem } from "../platform/errors.ts";

export interface Query {
  parameters: Map<string, string>;
  /** Every parameter that is repeated, empty or unreadable. */
  problems: Problem[];
}

/**
 * The parameters of `url` whose names are `known`; any other is ignored, also a malformed one. Values of a repeated parameter
 * among `lists` are joined with commas.
 */
export function readQuery(
  url: string,
  known: ReadonlySet<string>,
  lists: ReadonlySet<string> = new Set(),
): Query {
  const at = url.indexOf("?");
  const parameters = new Map<string, string>();
  const problems: Problem[] = [];
  for (const part of at === -1 ? [] : url.slice(at + 1).split("&")) {
    const [rawName = "", ...rest] = part.split("=");
    const name = decode(rawName);
    if (name === null || !known.has(name)) continue;
    const value = decode(rest.join("="));
    const before = lists.has(name) ? parameters.get(name) : undefined;
    const problem = problemOf(name, value, before === undefined && parameters.has(name));
    if (problem) problems.push(problem);
    else parameters.set(name, before === undefined ? (value as string) : `${before},${value}`);
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
