import { describe, expect, it } from "vitest";
import { readSample, SAMPLE_BYTES, type FileSample } from "../../../src/jobs/import-export/file-sample.ts";
import type { FileEncoding, ImportFormat } from "../../../src/jobs/import-export/import-rows.ts";
import { workbook } from "../../support/jobs/workbook.ts";

/** Reads a file that arrives in chunks of 1,000 bytes. */
async function sampleOf(
  file: string | Buffer,
  format: ImportFormat = "csv",
  encoding?: FileEncoding,
): Promise<FileSample> {
  const bytes = Buffer.from(file);
  async function* chunks(): AsyncGenerator<Uint8Array> {
    for (let at = 0; at < bytes.length; at += 1_000)
      yield await Promise.resolve(bytes.subarray(at, at + 1_000));
  }
  return await readSample(chunks(), { format, encoding });
}

describe("a CSV sample", () => {
  it("contains the column names and the first five rows", async () => {
    const text = `\uFEFFa,b\r\n${Array.from({ length: 9 }, (_, index) => `${index},x`).join("\r\n")}\r\n`;
    expect(await sampleOf(text)).toEqual({
      names: ["a", "b"],
      rows: [0, 1, 2, 3, 4].map((index) => [String(index), "x"]),
    });
  });

  it("is read in another encoding", async () => {
    const text = "Name;Nr\nCafé “€”;1\n";
    const cells = { names: ["Name", "Nr"], rows: [["Café “€”", "1"]] };
    const western = Buffer.from("Name;Nr\nCaf\u00E9 \u0093\u0080\u0094;1\n", "latin1");
    expect(await sampleOf(western, "csv", "windows-1252")).toEqual(cells);
    expect(await sampleOf(Buffer.from(`\uFEFF${text}`, "utf16le"), "csv", "utf-16le")).toEqual(cells);
  });

  it("has quotes, separators and line breaks in cells, and empty text for missing cells", async () => {
    expect(await sampleOf('a;"b ""c""";d\n"1;\n2";;\n3\n')).toEqual({
      names: ["a", 'b "c"', "d"],
      rows: [
        ["1;\n2", "", ""],
        ["3", "", ""],
      ],
    });
  });

  it("omits a last record that is cut off, and cuts long texts", async () => {
    const long = "x".repeat(SAMPLE_BYTES / 2);
    expect((await sampleOf(`a,b\n1,${long}\n2,${long}\n3,4`)).rows).toEqual([["1", "x".repeat(200)]]);
    expect((await sampleOf("a,b\n1,2\n3,4")).rows).toEqual([
      ["1", "2"],
      ["3", "4"],
    ]);
  });

  it.each([
    ["", "empty"],
    ["a,b\n", "no rows"],
    ["a|b\n1|2\n", "semicolons"],
    ["a\0,b\0\n", "UTF-8"],
    [Buffer.from("a,b\n1,Caf\u00E9\n", "latin1"), "UTF-8"],
    [Buffer.from("\uFEFFa,b\n1,2\n", "utf16le"), "UTF-8"],
    [`${"a,".repeat(300)}b\n1\n`, "200 columns"],
  ])("is refused with the reason: %j", async (file, message) => {
    await expect(sampleOf(file)).rejects.toMatchObject({
      code: "BadRequestException",
      message: expect.stringContaining(message),
    });
  });
});

describe("an NDJSON sample", () => {
  it("contains all keys of the first rows, with values as text", async () => {
    expect(await sampleOf('{"a":1,"b":null}\n\n{"c":{"d":true},"a":"x"}\n{"e":', "ndjson")).toEqual({
      names: ["a", "b", "c"],
      rows: [
        ["1", "", ""],
        ["x", "", '{"d":true}'],
      ],
    });
  });

  it("is refused if no line is an object", async () => {
    await expect(sampleOf("[1]\n2\n", "ndjson")).rejects.toThrow("not JSON objects");
  });
});

it("of a workbook has its first rows", async () => {
  const file = workbook([["No", "Day"], ...[1, 2, 3, 4, 5, 6].map((no) => [no, new Date("2026-12-31")])]);
  expect(await sampleOf(file, "xlsx")).toEqual({
    names: ["No", "Day"],
    rows: [1, 2, 3, 4, 5].map((no) => [String(no), "2026-12-31"]),
  });
});
