/** The evidence IDs of the pages and the tests match. */
import { describe, expect, it } from "vitest";
import {
  findEvidenceProblems,
  parseEvidenceIds,
  readPages,
  readTests,
  tableRows,
} from "../support/evidence.ts";

const pageWith = (cell: string): string => `| Fault | Evidence |\n|---|---|\n| killed | ${cell} |\n`;
const testWith = (ids: string): string => `  // evidence: ${ids}\n  it("works", () => {\n    run();\n  });\n`;
const check = (cell: string, ...texts: string[]): string[] =>
  findEvidenceProblems({
    pages: { "docs/a.md": pageWith(cell) },
    tests: Object.fromEntries(texts.map((text, index) => [`test/${index}.test.ts`, text])),
  });

describe("the pages", () => {
  const pages = readPages();

  it("name each evidence id of the tests, and no other", () => {
    const named = Object.values(pages).flatMap((page) =>
      tableRows(page).flatMap((cells) => parseEvidenceIds(cells.at(-1) ?? "")),
    );
    expect(named.length).toBeGreaterThan(300);
    expect(findEvidenceProblems({ pages, tests: readTests() })).toEqual([]);
  });

  it("of faults name a test in every row", () => {
    const rows = tableRows(pages["docs/engineering/faults.md"] ?? "");
    expect(rows.length).toBeGreaterThan(20);
    const incomplete = rows.filter(
      (cells) => cells.length !== 3 || parseEvidenceIds(cells.at(-1) ?? "").length === 0,
    );
    expect(incomplete).toEqual([]);
  });
});

describe("the checker", () => {
  it.each([
    ["several IDs of one test", "`one-id`, `two-id`", [testWith("one-id, two-id")]],
    ["IDs of several files", "`one-id`, `two-id`", [testWith("one-id"), testWith("two-id")]],
    ["a table of cases", "`one-id`", ['// evidence: one-id\nit.each([\n  ["a"],\n])("%s", run);\n']],
    ["a row that says why it has no test", "– nothing to test", []],
  ])("accepts %s", (_, cell, texts) => {
    expect(check(cell, ...texts)).toEqual([]);
  });

  it.each([
    ["an unknown ID", "`one-id`", [], "docs/a.md: no test has the id one-id"],
    ["a duplicate ID", "`one-id`", [testWith("one-id"), testWith("one-id")], "is defined more than once"],
    ["an ID that no page names", "`one-id`", [testWith("one-id, two-id")], "no page names two-id"],
    [
      "a skipped test",
      "`one-id`",
      ['// evidence: one-id\nit.skip("works", () => {\n  run();\n});\n'],
      "above",
    ],
    [
      "a test in a skipped group",
      "`one-id`",
      [
        'describe.skip("all", () => {\n  // evidence: one-id\n  it("works", () => {\n    run();\n  });\n});\n',
      ],
      "above",
    ],
    ["other code", "`one-id`", ["// evidence: one-id\nconst a = 1;\n"], "above"],
    ["other text in the cell", "`one-id`: a title", [testWith("one-id")], "must list ids in backticks"],
    ["an empty cell", "", [], "must list ids in backticks"],
  ])("rejects %s", (_, cell, texts, problem) => {
    expect(check(cell, ...texts)).toEqual([expect.stringContaining(problem)]);
  });
});
