/** The last lines of a test run. */
import { spawn } from "node:child_process";
import { mkdtempDisposable, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { waitForExit } from "../../support/processes/cli-process.ts";

const ROOT = join(import.meta.dirname, "../../..");

const TESTS = `import { expect, it } from "vitest";
  it("passes", () => expect(1).toBe(1));
  it("needs Python", ({ skip }) => skip(true, "skipped: there is no python3"));
  it("needs pip", ({ skip }) => skip("skipped: there is no python3"));
  it("needs Deno", ({ skip }) => skip("npm cannot install deno"));
  it.skip("is switched off", () => expect(1).toBe(2));`;
const FAILING_HOOK = `import { beforeAll, it } from "vitest";
  beforeAll(() => { throw new Error("No table"); });
  it("needs a table", () => undefined);`;

const program = (root: string): string => `
  import { startVitest } from "vitest/node";
  import { countTests, skipLines, slowestLines } from ${JSON.stringify(join(ROOT, "test/support/progress.reporter.ts"))};
  const { state } = await startVitest([], { root: ${JSON.stringify(root)}, config: false, watch: false, reporters: [] });
  const modules = state.getTestModules();
  console.log(JSON.stringify([countTests(modules, 0), skipLines(modules), slowestLines(modules, 1)]));`;

it("counts each failure once, and names the reasons of skipped tests and the slowest file", async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), "waymark-summary-"));
  await writeFile(join(folder.path, "some.test.js"), TESTS);
  await writeFile(join(folder.path, "hook.test.js"), FAILING_HOOK);
  await symlink(join(ROOT, "node_modules"), join(folder.path, "node_modules"));
  await writeFile(join(folder.path, "run.mjs"), program(folder.path));
  const { stdout } = await waitForExit(spawn(process.execPath, [join(folder.path, "run.mjs")]));
  expect(JSON.parse(stdout.trimEnd().split("\n").at(-1) ?? "")).toEqual([
    { passed: 1, failed: 1, skipped: 5 },
    ["2 skipped: there is no python3", "1 skipped: npm cannot install deno"],
    [expect.stringMatching(/^ +\d+\.\d s (some|hook)\.test\.js$/)],
  ]);
});
