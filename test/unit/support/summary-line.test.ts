/** The last lines of a test run. */
import { spawn } from "node:child_process";
import { mkdtempDisposable, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { waitForExit } from "../../support/processes/cli-process.ts";

const ROOT = join(import.meta.dirname, "..", "..", "..");
const REPORTER = join(ROOT, "test", "support", "summary-line.reporter.ts");

const TESTS = `import { expect, it } from "vitest";
  it("passes", () => expect(1).toBe(1));
  it("needs Python", ({ skip }) => skip(true, "skipped: there is no python3"));
  it("needs pip", ({ skip }) => skip("skipped: there is no python3"));
  it("needs Deno", ({ skip }) => skip("npm cannot install deno"));
  it.skip("is switched off", () => expect(1).toBe(2));`;

it("names the reasons of skipped tests before the numbers", async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), "waymark-summary-"));
  await writeFile(join(folder.path, "some.test.js"), TESTS);
  await symlink(join(ROOT, "node_modules"), join(folder.path, "node_modules"));
  const args = ["run", "--root", folder.path, "--reporter", REPORTER];
  const vitest = join(ROOT, "node_modules", "vitest", "vitest.mjs");
  const { PATH } = process.env;
  const { stdout } = await waitForExit(spawn(process.execPath, [vitest, ...args], { env: { PATH } }));
  expect(stdout.trimEnd().split("\n").slice(-3)).toEqual([
    "2 skipped: there is no python3",
    "1 skipped: npm cannot install deno",
    "1 passed, 0 failed, 4 skipped",
  ]);
});
