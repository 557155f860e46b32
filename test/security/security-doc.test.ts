/** Checks that docs/engineering/security.md covers each threat and requirement. `evidence.test.ts` checks the evidence ids. */
import { describe, expect, it } from "vitest";
import { parseEvidenceIds, readPages, tableRows } from "../support/evidence.ts";

const STATUSES = ["met", "partly", "not met", "operator", "not applicable"];

/** The number of level 1 and 2 requirements per section of ASVS 5.0.0. They come first in each section. */
const SECTIONS: readonly (readonly [chapter: number, counts: Readonly<Record<number, number>>])[] = [
  [1, { 1: 2, 2: 9, 3: 11, 4: 3, 5: 2 }],
  [2, { 1: 3, 2: 3, 3: 4, 4: 1 }],
  [3, { 2: 2, 3: 4, 4: 6, 5: 5, 7: 2 }],
  [4, { 1: 3, 2: 1, 3: 2, 4: 4 }],
  [5, { 1: 1, 2: 3, 3: 2, 4: 3 }],
  [6, { 1: 3, 2: 12, 3: 4, 4: 4, 5: 5, 6: 3, 8: 4 }],
  [7, { 1: 3, 2: 4, 3: 2, 4: 5, 5: 2, 6: 2 }],
  [8, { 1: 2, 2: 3, 3: 1, 4: 1 }],
  [13, { 1: 1, 2: 5, 3: 2, 4: 5 }],
  [16, { 1: 1, 2: 5, 3: 4, 4: 3, 5: 3 }],
];

interface Row {
  item: string;
  cells: string[];
  evidence: string;
}

const page = readPages()["docs/engineering/security.md"] ?? "";

const rowsOf = (part: string): Row[] =>
  tableRows(part).map((cells) => ({ item: cells[0] ?? "", cells, evidence: cells.at(-1) ?? "" }));
const rows = rowsOf(page);

describe("docs/engineering/security.md", () => {
  it("names a test for each of the OWASP API Top 10 and each resource limit", () => {
    const [, bounds = "", top = ""] = page.split(/^## (?:Resource limits|OWASP API|OWASP ASVS).*$/m);
    const topTen = rowsOf(top).filter(({ item }) => /^API\d/.test(item));
    expect(topTen.map(({ item }) => item.split(" ")[0])).toEqual(
      Array.from({ length: 10 }, (_, index) => `API${index + 1}:2023`),
    );
    const limits = rowsOf(bounds);
    expect(limits.length).toBeGreaterThan(20);
    for (const { item, cells, evidence } of [...topTen, ...limits]) {
      expect({ item, cells: cells.length }).toEqual({ item, cells: 3 });
      expect({ item, tests: parseEvidenceIds(evidence).length }).not.toMatchObject({ tests: 0 });
    }
  });

  it("covers each ASVS 5.0.0 requirement of its chapters once, with a status and evidence", () => {
    const asvs = rows.filter(({ item }) => /^\d/.test(item));
    const answered = asvs.flatMap(({ item }) => item.split(", "));
    const wanted = SECTIONS.flatMap(([chapter, counts]) =>
      Object.entries(counts).flatMap(([section, count]) =>
        Array.from({ length: count }, (_, index) => `${chapter}.${section}.${index + 1}`),
      ),
    );
    expect(answered.toSorted()).toEqual(wanted.toSorted());
    // `evidence.test.ts` checks that a row names tests or says why it has none.
    for (const { item, cells } of asvs) {
      expect({ item, cells: cells.length }).toEqual({ item, cells: 4 });
      expect(STATUSES).toContain(cells[1]);
    }
  });
});
