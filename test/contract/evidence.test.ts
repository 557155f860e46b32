/** The evidence IDs of the pages and the tests match. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import {
  findEvidenceProblems,
  parseEvidenceIds,
  findMissingSources,
  readPages,
  readTests,
  tableRows,
} from "../support/evidence.ts";

const ROOT = join(import.meta.dirname, "../..");

const pageWith = (cell: string): string => `| Fault | Evidence |\n|---|---|\n| killed | ${cell} |\n`;
const testWith = (ids: string): string => `  // evidence: ${ids}\n  it("works", () => {\n    run();\n  });\n`;
const check = (cell: string, ...texts: string[]): string[] =>
  findEvidenceProblems({
    pages: { "docs/a.md": pageWith(cell) },
    tests: Object.fromEntries(texts.map((text, index) => [`test/${index}.test.ts`, text])),
  });
const isSourceA = (path: string): boolean => path === "src/a.ts";

describe("the pages", () => {
  const pages = readPages();

  it("name each evidence id of the tests, and no other", () => {
    const named = Object.values(pages).flatMap((page) =>
      tableRows(page).flatMap((cells) => parseEvidenceIds(cells.at(-1) ?? "")),
    );
    expect(named.length).toBeGreaterThan(300);
    expect(findEvidenceProblems({ pages, tests: readTests() })).toEqual([]);
  });

  it.each(Object.entries(pages))("name only source files that exist: %s", (_, page) => {
    expect(findMissingSources(page, (path) => existsSync(join(ROOT, path)))).toEqual([]);
  });
});

describe("the checker", () => {
  it.each([
    ["one ID", "`one-id`", [testWith("one-id")]],
    ["several IDs of one test", "`one-id`, `two-id`", [testWith("one-id, two-id")]],
    ["IDs of several files", "`one-id`, `two-id`", [testWith("one-id"), testWith("two-id")]],
    ["a table of cases", "`one-id`", ['// evidence: one-id\nit.each([\n  ["a"],\n])("%s", run);\n']],
    ["a group", "`one-id`", ['// evidence: one-id\ndescribe("all", () => {});\n']],
    ["a test under a condition", "`one-id`", ['// evidence: one-id\nit.skipIf(isWindows)("works", run);\n']],
    ["a row that says why it has no test", "– nothing to test", []],
  ])("accepts %s", (_, cell, texts) => {
    expect(check(cell, ...texts)).toEqual([]);
  });

  it("rejects an unknown id", () => {
    expect(check("`one-id`")).toEqual(["docs/a.md: no test has the id one-id"]);
  });

  it("rejects a duplicate id, in one file or in two", () => {
    const inTwo = "one-id is defined more than once: test/0.test.ts:1, test/1.test.ts:1";
    expect(check("`one-id`", testWith("one-id"), testWith("one-id"))).toEqual([inTwo]);
    const inOne = "one-id is defined more than once: test/0.test.ts:1, test/0.test.ts:5";
    expect(check("`one-id`", testWith("one-id") + testWith("one-id"))).toEqual([inOne]);
  });

  it("rejects an id that no page names", () => {
    expect(check("`one-id`", testWith("one-id, two-id"))).toEqual(["test/0.test.ts:1: no page names two-id"]);
  });

  it.each([
    ["a skipped test", '// evidence: one-id\nit.skip("works", () => {\n  run();\n});\n'],
    ["a planned test", '// evidence: one-id\nit.todo("works");\n'],
    [
      "a test in a skipped group",
      'describe.skip("all", () => {\n  // evidence: one-id\n  it("works", () => {\n    run();\n  });\n});\n',
    ],
    ["other code", "// evidence: one-id\nconst a = 1;\n"],
    ["an empty line", '// evidence: one-id\n\nit("works", run);\n'],
  ])("rejects a comment above %s", (_, text) => {
    expect(check("`one-id`", text)).toHaveLength(1);
  });

  it.each(["`one-id`: a title", "`test/a.test.ts`", "", "one-id"])("rejects the evidence cell %j", (cell) => {
    expect(check(cell, ...(cell.includes("`one-id`") ? [testWith("one-id")] : []))).toHaveLength(1);
  });

  it("reports a source file that does not exist", () => {
    expect(findMissingSources("`src/a.ts`, `src/b.ts` and `a-b`", isSourceA)).toEqual(["src/b.ts"]);
  });
});
