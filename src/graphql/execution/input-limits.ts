/** What an input may hold at most, at any depth: how long its lists are, and how deep it nests. Without recursion. */
import type { Problem } from "../../platform/errors.ts";
import { limits, MAX_INPUT_DEPTH, MAX_VARIABLE_ERRORS } from "./limits.ts";

/** Lists and objects; what else is in an input is a value. */
type Container = object;

/** Whether lists and objects stand deeper within each other than is allowed. */
export function exceedsDepth(value: unknown): boolean {
  let level: Container[] = isContainer(value) ? [value] : [];
  for (let depth = 0; depth < MAX_INPUT_DEPTH && level.length > 0; depth += 1)
    level = level.flatMap((holder) => (Object.values(holder) as unknown[]).filter(isContainer));
  return level.length > 0;
}

export function tooDeepProblem(field: string): Problem {
  return {
    location: "query",
    field,
    code: "too_deep",
    message: `must not nest deeper than ${MAX_INPUT_DEPTH} levels`,
  };
}

/** What is wrong with the argument at `path`, whose own list must have `least` items. */
export function inputProblems(value: unknown, path: string, minItems: number): Problem[] {
  if (!isContainer(value)) return [];
  if (exceedsDepth(value)) return [tooDeepProblem(path)];
  const problems: Problem[] = [];
  const stack: { holder: Container; path: string; least: number }[] = [
    { holder: value, path, least: minItems },
  ];
  for (let next = stack.pop(); next && problems.length < MAX_VARIABLE_ERRORS; next = stack.pop()) {
    const wrong = Array.isArray(next.holder) ? listProblem(next.holder, next.path, next.least) : null;
    if (wrong) problems.push(wrong);
    // What is in a list that is too long is of no interest any more.
    else stack.push(...containersIn(next.holder, next.path));
  }
  return problems;
}

function containersIn(
  container: Container,
  path: string,
): { holder: Container; path: string; least: number }[] {
  return Object.entries(container).flatMap(([name, value]: [string, unknown]) =>
    isContainer(value) ? [{ holder: value, path: `${path}.${name}`, least: 0 }] : [],
  );
}

function listProblem({ length }: readonly unknown[], field: string, minItems: number): Problem | null {
  if (length >= minItems && length <= limits.listSize) return null;
  const message = `must have ${minItems} to ${limits.listSize} items; ${length} were given`;
  return { location: "query", field, code: "out_of_range", message };
}

function isContainer(value: unknown): value is Container {
  return typeof value === "object" && value !== null;
}
