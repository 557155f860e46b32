import { describe, expect, it } from "vitest";
import { MAX_XLSX_BYTES, readXlsx } from "../../../src/core/records/xlsx.ts";
import { workbook, workbookParts, zipParts } from "../../support/jobs/workbook.ts";

const MIB = 1024 * 1024;

/** Returns the texts of each row after its number. The file arrives in two parts. */
async function read(file: Buffer): Promise<unknown[][]> {
  async function* chunks(): AsyncGenerator<Uint8Array> {
    yield await Promise.resolve(file.subarray(0, 100));
    yield file.subarray(100);
  }
  const rows: unknown[][] = [];
  for await (const { line, content } of readXlsx(chunks()))
    rows.push([line, ...("cells" in content ? content.cells.map(({ text }) => text) : [])]);
  return rows;
}

it("has text, numbers, booleans and dates as text, under the numbers of their rows", async () => {
  const file = workbook([
    ["marking_number", "phone", "weight", "is_rework", "scheduled_date", "instructions"],
    [],
    ["W&M-1", 6_591_234_567, 0.1, true, new Date("2026-12-31"), "Ring twice\nThen wait"],
    ["WM-2", null, -0.5, false, new Date("1970-01-01")],
    ["WM-3"],
  ]);
  expect(await read(file)).toEqual([
    [1, "marking_number", "phone", "weight", "is_rework", "scheduled_date", "instructions"],
    [3, "W&M-1", "6591234567", "0.1", "true", "2026-12-31", "Ring twice\nThen wait"],
    [4, "WM-2", "", "-0.5", "false", "1970-01-01", ""],
    [5, "WM-3", "", "", "", "", ""],
  ]);
});

it("has cells beyond the header, so that the row is reported", async () => {
  expect(await read(workbook([["a"], ["1", "2"]]))).toEqual([
    [1, "a"],
    [2, "1", "2"],
  ]);
});

// evidence: workbooks-bounded
describe("a file that cannot be read", () => {
  const parts = workbookParts([["marking_number"], ["WM-1"]]);
  const name = "xl/sharedStrings.xml";
  const bomb = zipParts({ ...parts, [name]: `${" ".repeat(33 * MIB)}${parts[name]}` });
  const sheets = Object.fromEntries(
    Array.from({ length: 9 }, (_, at) => [`xl/worksheets/other${at}.xml`, " ".repeat(30 * MIB)]),
  );
  /** The bomb, whose index says `size` instead. The size is 24 bytes into an entry, and its name 46. */
  const liar = (size: number): Buffer => {
    const file = Buffer.from(bomb);
    file.writeUInt32LE(size, file.lastIndexOf(name) - 46 + 24);
    return file;
  };
  it.each([
    ["is empty", Buffer.alloc(0), "not a workbook"],
    ["is text", Buffer.from("marking_number\nWM-1\n"), "not a workbook"],
    ["is cut off", workbook([["marking_number"], ["WM-1"]]).subarray(0, 900), "not a workbook"],
    ["is another zip file", zipParts({ "a.txt": "a" }), "not a workbook"],
    ["is broken inside", zipParts({ ...parts, "xl/workbook.xml": "<workbook" }), "not a workbook"],
    ["has a password, or is an .xls file", Buffer.from("d0cf11e0a1b11ae100", "hex"), "without a password"],
    ["is larger than 16 MiB", Buffer.alloc(MAX_XLSX_BYTES + 1), "larger than 16 MiB"],
    ["has a part that unpacks to 33 MiB", bomb, "too large when unpacked"],
    ["has parts that unpack to 270 MiB", zipParts({ ...parts, ...sheets }), "too large when unpacked"],
    ["says that a part is smaller than it is", liar(100), "not a workbook"],
    ["says that a part is empty", liar(0), "too large when unpacked"],
  ])("is refused with the reason: it %s", async (_, file, message) => {
    await expect(read(file)).rejects.toMatchObject({
      code: "BadRequestException",
      message: expect.stringContaining(message),
    });
  });

  it("is read without entities that multiply", async () => {
    const entities = `<!DOCTYPE a [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;">]>`;
    const text = `${entities}${parts[name]?.replace("WM-1", "&c;&c;&c;")}`;
    const rows = await read(zipParts({ ...parts, [name]: text })).catch(() => []);
    expect(JSON.stringify(rows).length).toBeLessThan(200);
  });
});
