/** Prints `N passed, N failed` as the last line of a test run, for `.ci/run` and its log. */
import type { SerializedError } from "vitest";
import type { Reporter, TestModule, TestRunEndReason } from "vitest/node";

export default class SummaryLineReporter implements Reporter {
  #line = "";

  onInit(): void {
    // Other reporters, coverage and the global teardown print after the end of the run.
    process.once("exit", () => process.stdout.write(this.#line));
  }

  onTestRunEnd(
    modules: readonly TestModule[],
    unhandledErrors: readonly SerializedError[],
    reason: TestRunEndReason,
  ): void {
    const count = { passed: 0, failed: unhandledErrors.length, skipped: 0 };
    for (const module of modules) {
      for (const test of module.children.allTests()) {
        const { state } = test.result();
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
    this.#line = `${count.passed} passed, ${count.failed} failed${skipped}\n`;
  }
}
