/** Checks the list lengths, the size and the nesting depth of inputs. */
import type { Problem } from "../../../core/errors.ts";
import { limits, MAX_INPUT_CONTAINERS, MAX_INPUT_DEPTH } from "./limits.ts";

/** A list or an object. */
type Container = object;

/** Returns the problem of a value that is too deep or too large for recursion, or null. */
export function sizeProblem(value: unknown, field: string): Problem | null {
  let level: Container[] = isContainer(value) ? [value] : [];
  let count = level.length;
  for (let depth = 0; depth < MAX_INPUT_DEPTH && level.length > 0; depth += 1) {
    level = level.flatMap((container) => (Object.values(container) as unknown[]).filter(isContainer));
    count += level.length;
    if (count > MAX_INPUT_CONTAINERS) {
      const message = `must not have more than ${MAX_INPUT_CONTAINERS} lists and objects`;
      return { location: "query", field, code: "too_big", message };
    }
  }
  const message = `must not nest deeper than ${MAX_INPUT_DEPTH} levels`;
  return level.length > 0 ? { location: "query", field, code: "too_deep", message } : null;
}

/** Returns the problems of the argument at `path`. If it is a list, it must have at least `minItems` items. */
export function inputProblems(value: unknown, path: string, minItems: number): Problem[] {
  const tooLarge = sizeProblem(value, path);
  return tooLarge ? [tooLarge] : listProblems(value, path, minItems);
}

/** The items of a rejected list are not checked. */
function listProblems(value: unknown, path: string, minItems = 0): Problem[] {
  if (!isContainer(value)) return [];
  if (Array.isArray(value) && (value.length < minItems || value.length > limits.listSize)) {
    const message = `must have ${minItems} to ${limits.listSize} items, got ${value.length}`;
    return [{ location: "query", field: path, code: "out_of_range", message }];
  }
  return Object.entries(value).flatMap(([name, inner]) => listProblems(inner, `${path}.${name}`));
}

function isContainer(value: unknown): value is Container {
  return typeof value === "object" && value !== null;
}
