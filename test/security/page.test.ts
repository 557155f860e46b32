/** docs/security.md is held to the tests that it names, and to the requirements that it says it answers. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { hasTest, missingTests, namedTestsIn } from "../support/named-tests.ts";

const ROOT = join(import.meta.dirname, "../..");
const STANDINGS = ["met", "partly", "not met", "outside", "none here"];

/** How many requirements of levels 1 and 2 each section of ASVS 5.0.0 has: they are its first; its others, and other sections, have none. */
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
  /** Where it says what holds it. */
  heldBy: string;
}

let page: string;
let rows: Row[];

beforeAll(async () => {
  page = await readFile(join(ROOT, "docs/security.md"), "utf8");
  const lines = page.split("\n").filter((line) => line.startsWith("| ") && !line.startsWith("| requirement"));
  rows = lines
    .map((line) => line.slice(2, -2).split(" | "))
    .map((cells) => ({ item: cells[0] ?? "", cells, heldBy: cells.at(-1) ?? "" }));
});

const rowsOf = (part: string): Row[] => rows.filter(({ cells }) => part.includes(cells.join(" | ")));

describe("docs/security.md", () => {
  it("names tests that there are, by their titles", async () => {
    const named = rows.flatMap(({ heldBy }) => namedTestsIn(heldBy));
    expect(named.length).toBeGreaterThan(150);
    expect(await missingTests(named)).toEqual([]);
  });

  it.each([
    ["skipped", 'it.skip("holds", () => {\n  expect(1).toBe(1);\n});'],
    ["still to be written", 'it.todo("holds");'],
    [
      "of several that are skipped",
      'it.skip.each([\n  ["a"],\n])("holds", (one) => {\n  expect(one).toBe("a");\n});',
    ],
    [
      "in a group that is skipped",
      'describe.skip("all", () => {\n  it("holds", () => {\n    run();\n  });\n});',
    ],
    ["only spoken of", '// It once had "holds".\nconst title = "holds";'],
  ])("would not take a test that is %s", (_, text) => {
    expect(hasTest(text, "holds")).toBe(false);
    const beside = 'it("holds", () => {\n  run();\n});';
    expect(hasTest(`${text}\n${beside}`, "holds")).toBe(true);
    expect(hasTest(`${beside}\n${text}`, "holds")).toBe(true);
    expect(hasTest('it.skipIf(isWindows)(\n  "holds",\n  () => run(),\n);', "holds")).toBe(true);
  });

  it("names a test for each of OWASP's ten, and for each bound", () => {
    const [, bounds = "", top = ""] = page.split(/^## (?:What one may cost|OWASP API|OWASP ASVS).*$/m);
    const ten = rowsOf(top).filter(({ item }) => /^API\d/.test(item));
    expect(ten.map(({ item }) => item.split(" ")[0])).toEqual(
      Array.from({ length: 10 }, (_, at) => `API${at + 1}:2023`),
    );
    const held = [...ten, ...rowsOf(bounds).filter(({ item }) => item !== "what")];
    for (const { item, heldBy } of held)
      expect({ item, tests: namedTestsIn(heldBy).length }).not.toMatchObject({ tests: 0 });
  });

  it("answers each requirement of ASVS 5.0.0 in its chapters once, with a standing and what holds it", () => {
    const asvs = rows.filter(({ item }) => /^\d/.test(item));
    const answered = asvs.flatMap(({ item }) => item.split(", "));
    const wanted = SECTIONS.flatMap(([chapter, counts]) =>
      Object.entries(counts).flatMap(([section, count]) =>
        Array.from({ length: count }, (_, at) => `${chapter}.${section}.${at + 1}`),
      ),
    );
    expect(answered.toSorted()).toEqual(wanted.toSorted());
    for (const { item, cells, heldBy } of asvs) {
      expect({ item, cells: cells.length }).toEqual({ item, cells: 4 });
      expect(STANDINGS).toContain(cells[1]);
      // Without a test it says why.
      expect({ item, isHeld: namedTestsIn(heldBy).length > 0 || heldBy.startsWith("– ") }).toEqual({
        item,
        isHeld: true,
      });
    }
  });

  it("says of what is not met what is missing", () => {
    const lacking = rows.filter(({ cells }) => cells[1] === "not met" || cells[1] === "partly");
    expect(lacking.length).toBeGreaterThan(0);
    for (const { cells } of lacking) expect(cells[2]?.length).toBeGreaterThan(40);
  });
});
