/** Closes a run with `N passed, N failed` alone on a line, for `.ci/run` and whoever reads its log. */
import type { SerializedError } from "vitest";
import type { Reporter, TestModule, TestRunEndReason } from "vitest/node";

export default class SummaryLineReporter implements Reporter {
  #line = "";

  onInit(): void {
    // The other reporters, coverage and the global teardown print after the run's end, and this line is the last.
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
        // What an interrupted run leaves pending did not pass.
        count[state === "pending" ? "failed" : state] += 1;
      }
      // A file that does not load and a hook that throws have no failed test to show for it.
      count.failed += [module, ...module.children.allSuites()].filter(
        (part) => part.errors().length > 0,
      ).length;
    }
    if (reason !== "passed" && count.failed === 0) count.failed = 1;
    const skipped = count.skipped > 0 ? `, ${count.skipped} skipped` : "";
    this.#line = `${count.passed} passed, ${count.failed} failed${skipped}\n`;
  }
}
