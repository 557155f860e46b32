/** Checks the list lengths, the size and the nesting depth of inputs, without recursion so that deep inputs cannot overflow the stack. */
import { MAX_PROBLEMS, type Problem } from "../../../core/errors.ts";
import { limits, MAX_INPUT_CONTAINERS, MAX_INPUT_DEPTH } from "./limits.ts";

/** A list or an object. */
type Container = object;

/** Returns the problem of a value that is too deep or too large to be checked further, or null. */
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
  if (!isContainer(value)) return [];
  const tooLarge = sizeProblem(value, path);
  if (tooLarge) return [tooLarge];
  const problems: Problem[] = [];
  const stack: ContainerCheck[] = [{ container: value, path, minItems }];
  for (let next = stack.pop(); next && problems.length < MAX_PROBLEMS; next = stack.pop()) {
    const { container } = next;
    const problem = Array.isArray(container) ? listProblem(container, next.path, next.minItems) : null;
    if (problem) problems.push(problem);
    // The items of a rejected list are not checked.
    else stack.push(...containersIn(container, next.path));
  }
  return problems;
}

interface ContainerCheck {
  container: Container;
  path: string;
  minItems: number;
}

function containersIn(container: Container, path: string): ContainerCheck[] {
  return Object.entries(container).flatMap(([name, value]: [string, unknown]) =>
    isContainer(value) ? [{ container: value, path: `${path}.${name}`, minItems: 0 }] : [],
  );
}

function listProblem({ length }: readonly unknown[], field: string, minItems: number): Problem | null {
  if (length >= minItems && length <= limits.listSize) return null;
  const message = `must have ${minItems} to ${limits.listSize} items, got ${length}`;
  return { location: "query", field, code: "out_of_range", message };
}

function isContainer(value: unknown): value is Container {
  return typeof value === "object" && value !== null;
}
