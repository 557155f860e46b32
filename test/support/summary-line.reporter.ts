/** Prints why tests were skipped, and `N passed, N failed` as the last line of a test run, for `.ci/run` and its log. */
import type { SerializedError } from "vitest";
import type { Reporter, TestModule, TestResult, TestRunEndReason } from "vitest/node";

export default class SummaryLineReporter implements Reporter {
  #text = "";

  onInit(): void {
    // Other reporters, coverage and the global teardown print after the end of the run.
    process.once("exit", () => process.stdout.write(this.#text));
  }

  onTestRunEnd(
    modules: readonly TestModule[],
    unhandledErrors: readonly SerializedError[],
    reason: TestRunEndReason,
  ): void {
    const skippedBy = new Map<string, number>();
    const count = { passed: 0, failed: unhandledErrors.length, skipped: 0 };
    for (const module of modules) {
      for (const test of module.children.allTests()) {
        const result = test.result();
        const { state } = result;
        const note = skipNote(result);
        if (note !== null) skippedBy.set(note, (skippedBy.get(note) ?? 0) + 1);
        // A test that an interrupted run leaves pending counts as failed.
        count[state === "pending" ? "failed" : state] += 1;
      }
      // A file that fails to load or a hook that throws has no failed test.
      count.failed += [module, ...module.children.allSuites()].filter(
        (part) => part.errors().length > 0,
      ).length;
    }
    if (reason !== "passed" && count.failed === 0) count.failed = 1;
    const skipped = count.skipped > 0 ? `, ${count.skipped} skipped` : "";
    const lines = Array.from(skippedBy, ([note, tests]) => `${tests} skipped: ${note}\n`);
    this.#text = `${lines.join("")}${count.passed} passed, ${count.failed} failed${skipped}\n`;
  }
}

/** Returns what a test passed to `skip`; null if it ran, or if a filter excluded it. */
function skipNote(result: TestResult): string | null {
  return result.state === "skipped" && result.note ? result.note.replace(/^skipped: /, "") : null;
}
