/** docs/faults.md is held to the tests that it names. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { missingTests, namedTestsIn, type NamedTest } from "../support/named-tests.ts";

const ROOT = join(import.meta.dirname, "../..");

/** The rows of its tables, and the tests that each names in its last cell. */
async function readRows(): Promise<{ row: string; tests: NamedTest[] }[]> {
  const page = await readFile(join(ROOT, "docs/faults.md"), "utf8");
  const rows = page.split("\n").filter((line) => line.startsWith("| ") && !line.endsWith("| shown by |"));
  return rows
    .filter((line) => !line.startsWith("| ---"))
    .map((row) => ({ row, tests: namedTestsIn(row.slice(2, -2).split(" | ").at(-1) ?? "") }));
}

it("every row names a test", async () => {
  const rows = await readRows();
  expect(rows.length).toBeGreaterThan(20);
  expect(rows.filter(({ tests }) => tests.length === 0)).toEqual([]);
});

it("every test that is named is there", async () => {
  const named = (await readRows()).flatMap(({ tests }) => tests);
  expect(await missingTests(named)).toEqual([]);
});
