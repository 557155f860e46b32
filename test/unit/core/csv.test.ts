import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { csvLine, readCsv, type CsvRecord } from "../../../src/core/records/csv.ts";

async function* splitInto(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let offset = 0; offset < bytes.length; offset += size) yield bytes.subarray(offset, offset + size);
}

async function read(
  text: string | Uint8Array,
  size = 65_536,
): Promise<{ line: number; content: CsvRecord }[]> {
  return await Array.fromAsync(readCsv(splitInto(Buffer.from(text), size)));
}

/** Returns each record as its line and its cells, with quoted cells in angle brackets. */
async function cellsOf(text: string | Uint8Array, size?: number) {
  return (await read(text, size)).map(({ line, content }) =>
    "error" in content
      ? [line, content.error]
      : [line, ...content.cells.map((cell) => (cell.isQuoted ? `<${cell.text}>` : cell.text))],
  );
}

describe("readCsv", () => {
  it("returns the physical line that each record starts on, for all line endings", async () => {
    expect(await cellsOf('a,b\r\n"1\r\n2\n3\r4",x\n\n\r\nc,d\re,f')).toEqual([
      [1, "a", "b"],
      [2, "<1\r\n2\n3\r4>", "x"],
      [8, "c", "d"],
      [9, "e", "f"],
    ]);
  });

  it("skips lines that contain only commas", async () => {
    expect(await cellsOf("a,b\n,\n\nc,d\n,")).toEqual([
      [1, "a", "b"],
      [4, "c", "d"],
    ]);
  });

  it("skips a byte order mark only at the start", async () => {
    expect(await cellsOf("\uFEFFa,\uFEFFb\n\uFEFFc,d", 1)).toEqual([
      [1, "a", "\uFEFFb"],
      [2, "\uFEFFc", "d"],
    ]);
  });

  it("returns no records for an empty file", async () => {
    expect(await cellsOf("")).toEqual([]);
    expect(await cellsOf("\uFEFF")).toEqual([]);
    expect(await cellsOf("\r\n\n")).toEqual([]);
  });

  it.each([
    ['a,b"c\nd,e', "has a quote inside a cell that is not quoted"],
    ['a,"b"c\nd,e', "has text after a closing quote"],
    ['a,"b\nd,e', "opens a quote that is never closed"],
    ['a,"b\nd,"e"', "has text after a closing quote"],
  ])("skips only the first line of a malformed record: %j", async (text, error) => {
    for (const size of [1, 3, 65_536]) {
      const [first, second, ...more] = await cellsOf(text, size);
      expect(first).toEqual([1, error]);
      expect(second?.slice(0, 2)).toEqual([2, "d"]);
      expect(more).toEqual([]);
    }
  });

  it("continues after a quote that is not closed within a megabyte", async () => {
    const rest = "row,1\n".repeat(250_000);
    const records = await read(`stray,"2\n${rest}`);
    expect(records.length).toBe(250_001);
    expect(records[0]).toMatchObject({ line: 1, content: { error: "opens a quote that is never closed" } });
    expect(records.at(-1)?.line).toBe(250_001);
  });

  // evidence: import-line-limit
  it("rejects a line over 1 MiB", async () => {
    await expect(read(`a,b\n${"x".repeat(1_200_000)}\n`)).rejects.toThrow("Line 2 is longer than 1 MiB");
  });

  it("returns the same records for all chunk sizes", async () => {
    const piece = fc.constantFrom("a", '"', '""', ",", "\n", "\r", "\r\n", "é", "𝒳", "\uFEFF", " ");
    await fc.assert(
      fc.asyncProperty(
        fc.array(piece, { maxLength: 40 }),
        fc.integer({ min: 1, max: 7 }),
        async (pieces, size) => {
          const text = pieces.join("");
          expect(await cellsOf(text, size)).toEqual(await cellsOf(text));
        },
      ),
      { numRuns: 500 },
    );
  });
});

describe("csvLine", () => {
  it("writes any text so that readCsv returns it unchanged", async () => {
    const cell = fc.oneof(
      fc.constantFrom(null, "", '"', '""', ",", "\n", "\r\n", "\r", "=1+1", "\uFEFFx", " ", "\uFFFD"),
      fc.string({ unit: "binary" }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(cell, { maxLength: 6 }), async (cells) => {
        const [record] = await read(`${csvLine(["start", ...cells])}\n`);
        const content = record?.content ?? { error: "none" };
        const texts =
          "cells" in content
            ? content.cells.map(({ text, isQuoted }) => (text || isQuoted ? text : null))
            : [];
        expect(texts).toEqual(["start", ...cells]);
      }),
      { numRuns: 500 },
    );
  });
});
