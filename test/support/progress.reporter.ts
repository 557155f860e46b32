/** Numbers the finished test files, and counts what the last lines of `npm test` say. */
import { DefaultReporter, type TestCase, type TestModule, type TestSpecification } from "vitest/node";

/** Tests by result. An error outside a test counts as a failed test. */
export interface TestCounts {
  passed: number;
  failed: number;
  skipped: number;
}

export default class ProgressReporter extends DefaultReporter {
  #files = 0;
  #finished = 0;

  override onTestRunStart(specifications: readonly TestSpecification[]): void {
    this.#files = specifications.length;
    this.#finished = 0;
    super.onTestRunStart(specifications);
  }

  override onTestModuleEnd(module: TestModule): void {
    this.#finished += 1;
    super.onTestModuleEnd(module);
  }

  protected override getEntityPrefix(entity: Parameters<DefaultReporter["getEntityPrefix"]>[0]): string {
    const prefix = super.getEntityPrefix(entity);
    if (entity.type !== "module") return prefix;
    return `[${String(this.#finished).padStart(String(this.#files).length)}/${this.#files}] ${prefix}`;
  }
}

/** Counts the results, and the files and suites that have an error of their own, such as a failed hook. */
export function countTests(modules: readonly TestModule[], unhandledErrors: number): TestCounts {
  const counts: TestCounts = { passed: 0, failed: unhandledErrors, skipped: 0 };
  for (const module of modules) {
    for (const test of module.children.allTests()) {
      const { state } = test.result();
      // A test that an interrupted run leaves pending counts as failed.
      counts[state === "pending" ? "failed" : state] += 1;
    }
    counts.failed += [module, ...module.children.allSuites()].filter(
      (part) => part.errors().length > 0,
    ).length;
  }
  return counts;
}

/** Returns a line for each reason that a test passed to `skip`, such as `2 skipped: there is no python3`. */
export function skipLines(modules: readonly TestModule[]): string[] {
  const tests = modules.flatMap((module) => [...module.children.allTests()]);
  const notes = tests.map(skipNote).filter((note) => note !== null);
  return [...Map.groupBy(notes, (note) => note)].map(([note, found]) => `${found.length} skipped: ${note}`);
}

/** Returns lines such as `12 s test/api/import.test.ts` for the slowest files. */
export function slowestLines(modules: readonly TestModule[], count: number): string[] {
  return modules
    .map((module) => {
      const { duration, collectDuration, setupDuration } = module.diagnostic();
      return { name: module.relativeModuleId, ms: duration + collectDuration + setupDuration };
    })
    .toSorted((one, other) => other.ms - one.ms)
    .slice(0, count)
    .map(({ name, ms }) => `${(ms / 1000).toFixed(1).padStart(6)} s ${name}`);
}

/** Returns what a test passed to `skip`; null if it ran. */
function skipNote(test: TestCase): string | null {
  const result = test.result();
  if (result.state !== "skipped") return null;
  if (test.tags.includes("long")) return "`npm run test:all` runs them";
  return result.note ? result.note.replace(/^skipped: /, "") : null;
}
