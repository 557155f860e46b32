import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  guessMapping,
  hasDateOrder,
  planProblems,
  targetColumns,
} from "../../../src/console/pages/jobs/import/columns.ts";
import {
  detectFormat,
  failuresAsCsv,
  importPath,
  NdjsonReader,
  MAX_FILE_BYTES,
  MAX_XLSX_BYTES,
  type ImportLine,
  type ImportPlan,
} from "../../../src/console/pages/jobs/import/import-api.ts";
import { MAX_IMPORT_BYTES } from "../../../src/api/console/import.routes.ts";
import { fileColumns } from "../../../src/jobs/import-export/file-codec.ts";
import { MAX_XLSX_BYTES as SERVER_MAX_XLSX_BYTES } from "../../../src/core/records/xlsx.ts";

const plan: ImportPlan = {
  fileName: "x.csv",
  format: "csv",
  names: ["No", "Day"],
  mapping: [],
  dates: null,
  agent: null,
  contractor: null,
};

describe("column mapping", () => {
  it("offers exactly the columns that the server accepts", () => {
    expect(targetColumns.map(({ name }) => name)).toEqual(fileColumns);
  });

  it("recognises API names, camel case names and labels", () => {
    expect(guessMapping(fileColumns, targetColumns)).toEqual(fileColumns);
    expect(
      guessMapping(["markingNumber", "Delivery Address", "POSTAL-CODE", "Piece quantity"], targetColumns),
    ).toEqual(["marking_number", "delivery_address", "postal_code", "piece_quantity"]);
  });

  it("recognises aliases and skips unknown columns", () => {
    expect(guessMapping(["Tracking No.", "Consignee", "Qty", "Colour", ""], targetColumns)).toEqual([
      "marking_number",
      "recipient_name",
      "piece_quantity",
      null,
      null,
    ]);
  });

  it("maps each target once and prefers exact names", () => {
    expect(guessMapping(["Date", "scheduled_date"], targetColumns)).toEqual([null, "scheduled_date"]);
    expect(guessMapping(["Qty", "Pieces"], targetColumns)).toEqual([null, "piece_quantity"]);
  });

  it("skips columns with duplicate names", () => {
    expect(guessMapping(["weight", "weight", "pts"], targetColumns)).toEqual([null, null, "pts"]);
  });

  it("requires a Marking Number but no agent", () => {
    expect(planProblems({ ...plan, mapping: [null, "agent"] }, [])).toEqual([
      "Choose the column with the Marking Number.",
    ]);
    expect(planProblems({ ...plan, mapping: ["marking_number", null] }, [])).toEqual([]);
  });

  it.each(["31/12/2026", "1.2.2026", "02-01-2026"])("requires the order of dates as %s in CSV", (date) => {
    const dated: ImportPlan = { ...plan, mapping: ["marking_number", "scheduled_date"] };
    const rows = [["WM-1", date]];
    const message = "Choose whether day or month comes first in the dates.";
    expect(planProblems(dated, [["WM-1", "2026-12-31"], ...rows])).toEqual([message]);
    expect(planProblems({ ...dated, dates: "dmy" }, rows)).toEqual([]);
    expect(planProblems({ ...plan, mapping: ["marking_number", "instructions"] }, rows)).toEqual([]);
    expect(planProblems({ ...dated, format: "ndjson" }, rows)).toEqual([]);
    expect(hasDateOrder({ ...plan, mapping: ["marking_number"] })).toBe(false);
  });
});

it("detects the format by file extension", () => {
  expect(["a.csv", "b.JSONL", "c.ndjson", "d.XLSX", "e.xls", "csv"].map(detectFormat)).toEqual([
    "csv",
    "ndjson",
    "ndjson",
    "xlsx",
    null,
    null,
  ]);
});

it("has the same file size limits as the server", () => {
  expect(MAX_FILE_BYTES).toBe(MAX_IMPORT_BYTES);
  expect(MAX_XLSX_BYTES).toBe(SERVER_MAX_XLSX_BYTES);
});

it("sends only the mapped columns of a plan", () => {
  const path = importPath(
    {
      ...plan,
      names: ["No", "Colour", "kg&"],
      mapping: ["marking_number", null, "weight"],
      dates: "dmy",
      agent: "org_1",
    },
    true,
  );
  const query = new URLSearchParams(path.slice(path.indexOf("?")));
  expect(Object.fromEntries(query)).toEqual({
    dry_run: "true",
    columns: '{"No":"marking_number","kg&":"weight"}',
    file_name: "x.csv",
    dates: "dmy",
    agent: "org_1",
  });
});

it("reads each line of a response once, however it is split", () => {
  const counts = { created: 1, updated: 0, unchanged: 0, failed: 0 };
  const lines = [1, 2, 3].map((bytes): ImportLine => ({ type: "progress", bytes, counts }));
  const text = lines.map((line) => `${JSON.stringify(line)}\n`).join("");
  fc.assert(
    fc.property(fc.array(fc.nat(text.length)), (cuts) => {
      const reader = new NdjsonReader();
      const read = [...cuts.toSorted((a, b) => a - b), text.length].flatMap((cut) =>
        reader.push(text.slice(0, cut)),
      );
      expect(read).toEqual(lines);
    }),
  );
});

it("escapes formulas in the CSV of failed rows", () => {
  const csv = failuresAsCsv([
    {
      line: 3,
      marking_number: "=HYPERLINK(1)",
      problems: [
        { field: null, message: 'has "x", twice' },
        { field: "pts", message: "-1" },
      ],
    },
    { line: 4, marking_number: null, problems: [{ field: "weight", message: "must be a number" }] },
    { line: 5, marking_number: "A;=1+1", problems: [{ field: "pts", message: "must be\t\uFF1D1" }] },
  ]);
  expect(csv.split("\r\n")).toEqual([
    "\uFEFFline,marking_number,field,reason",
    `3,'=HYPERLINK(1),,"has ""x"", twice"`,
    "3,'=HYPERLINK(1),pts,'-1",
    "4,,weight,must be a number",
    `5,"A;'=1+1",pts,"must be\t'\uFF1D1"`,
    "",
  ]);
});
