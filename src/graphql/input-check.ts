/** What an input may hold at most, at any depth: how long its lists are, and how deep it nests. Without recursion. */
import type { Problem } from "../platform/errors.ts";
import { limits, MAX_INPUT_DEPTH, MAX_VARIABLE_ERRORS } from "./limits.ts";

/** Lists and objects; what else is in an input is a value. */
type Holder = object;

/** Whether lists and objects stand deeper within each other than is allowed. */
export function nestsTooDeep(value: unknown): boolean {
  let level: Holder[] = isHolder(value) ? [value] : [];
  for (let depth = 0; depth < MAX_INPUT_DEPTH && level.length > 0; depth += 1)
    level = level.flatMap((holder) => (Object.values(holder) as unknown[]).filter(isHolder));
  return level.length > 0;
}

export function inputTooDeep(field: string): Problem {
  return {
    location: "query",
    field,
    code: "too_deep",
    message: `must not nest deeper than ${MAX_INPUT_DEPTH} levels`,
  };
}

/** What is wrong with the argument at `path`, whose own list must have `least` items. */
export function inputProblems(value: unknown, path: string, least: number): Problem[] {
  if (!isHolder(value)) return [];
  if (nestsTooDeep(value)) return [inputTooDeep(path)];
  const problems: Problem[] = [];
  const waiting: { holder: Holder; path: string; least: number }[] = [{ holder: value, path, least }];
  for (let next = waiting.pop(); next && problems.length < MAX_VARIABLE_ERRORS; next = waiting.pop()) {
    const wrong = Array.isArray(next.holder) ? listProblem(next.holder, next.path, next.least) : null;
    if (wrong) problems.push(wrong);
    // What is in a list that is too long is of no interest any more.
    else waiting.push(...holdersIn(next.holder, next.path));
  }
  return problems;
}

function holdersIn(holder: Holder, path: string): { holder: Holder; path: string; least: number }[] {
  return Object.entries(holder).flatMap(([name, value]: [string, unknown]) =>
    isHolder(value) ? [{ holder: value, path: `${path}.${name}`, least: 0 }] : [],
  );
}

function listProblem({ length }: readonly unknown[], field: string, least: number): Problem | null {
  if (length >= least && length <= limits.listSize) return null;
  const message = `must have ${least} to ${limits.listSize} items; ${length} were given`;
  return { location: "query", field, code: "out_of_range", message };
}

function isHolder(value: unknown): value is Holder {
  return typeof value === "object" && value !== null;
}
