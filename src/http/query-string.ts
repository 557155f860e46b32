/** Query strings, read strictly: a parameter stands once, is not empty and is valid percent-encoded UTF-8. */
import { badRequest, type AppError, type Problem } from "../platform/errors.ts";

/** The parameters of `url`. Throws BadRequestException with every parameter that is repeated, empty or unreadable. */
export function readQuery(url: string): Map<string, string> {
  const at = url.indexOf("?");
  const parameters = new Map<string, string>();
  if (at === -1) return parameters;
  const problems: Problem[] = [];
  for (const part of url.slice(at + 1).split("&")) {
    if (part === "") continue;
    const [rawName = "", ...rest] = part.split("=");
    const name = decode(rawName) ?? rawName;
    const value = decode(rest.join("="));
    const problem = problemOf(name, value, parameters);
    if (problem) problems.push(problem);
    else parameters.set(name, value as string);
  }
  if (problems.length > 0) throw badRequest(problems, sentence(problems[0] as Problem));
  return parameters;
}

/** A 400 for findings in parameters, its message naming the first. */
export function badParameters(problems: readonly Problem[]): AppError {
  return badRequest(problems, sentence(problems[0] as Problem));
}

function sentence({ field, message }: Problem): string {
  return `${field} ${message}`;
}

function problemOf(name: string, value: string | null, seen: ReadonlyMap<string, string>): Problem | null {
  const problem = (code: string, message: string): Problem => ({
    location: "query",
    field: name,
    code,
    message,
  });
  if (value === null) return problem("malformed", "is not valid percent-encoded UTF-8");
  if (seen.has(name)) return problem("repeated", "must be given once");
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
