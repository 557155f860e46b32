/**
 * `npm test`: the checks side by side with the tests. With `--all` (`npm run test:all`) also the tests in `test/long`, those with
 * the tag `long`, and coverage. The last line is `N passed, N failed`, in which each check counts like a test.
 */
import { type CliOptions, startVitest, type TestModule } from "vitest/node";
import { countTests, skipLines, slowestLines } from "../test/support/progress.reporter.ts";
import { describe, type Part, runChecks, secondsSince } from "./check.ts";

const SLOWEST_FILES = 10;
/** Ends what a test file left open in its process. It has nothing left to do. */
const EXIT_DELAY_MS = 5_000;

interface TestRun {
  readonly part: Part;
  readonly modules: readonly TestModule[];
  readonly unhandledErrors: number;
}

async function runTests(name: string, options: CliOptions): Promise<TestRun> {
  const startedAtMs = performance.now();
  process.exitCode = 0;
  const { state } = await startVitest([], { ...options, watch: false });
  const modules = state.getTestModules();
  const unhandledErrors = state.getUnhandledErrors().length;
  // Vitest sets the exit code for failed tests, and if the set-up fails, no test is found or coverage is too low.
  const part = { name, passed: process.exitCode === 0, seconds: secondsSince(startedAtMs) };
  return { part, modules, unhandledErrors };
}

async function runAllTests(): Promise<TestRun[]> {
  return [
    await runTests("tests with coverage", { config: ".vitest.config.ts", coverage: { enabled: true } }),
    await runTests("long tests", { config: ".vitest.long.config.ts" }),
  ];
}

process.stdout.write("Running the checks of the source and the tests side by side.\n");
const isAll = process.argv.includes("--all");
const checking = runChecks();
const runs = isAll
  ? await runAllTests()
  : [await runTests("tests", { config: ".vitest.config.ts", tagsFilter: ["!long"] })];
const checks = await checking;

const modules = runs.flatMap((run) => run.modules);
const tests = countTests(
  modules,
  runs.reduce((sum, { unhandledErrors }) => sum + unhandledErrors, 0),
);
const parts = [...checks, ...runs.map(({ part }) => part)];
const failedParts = (tests.failed > 0 ? checks : parts).filter((part) => !part.passed).length;
const failed = tests.failed + failedParts;
const skipped = tests.skipped > 0 ? `, ${tests.skipped} skipped` : "";
const lines = [
  "",
  `The slowest ${SLOWEST_FILES} of ${modules.length} files:`,
  ...slowestLines(modules, SLOWEST_FILES),
  ...parts.map(describe),
  ...skipLines(modules),
  `${tests.passed + checks.filter((check) => check.passed).length} passed, ${failed} failed${skipped}`,
];
process.stdout.write(`${lines.join("\n")}\n`);
process.exitCode = failed > 0 ? 1 : 0;
setTimeout(() => process.exit(), EXIT_DELAY_MS).unref();
