import { Readable } from "node:stream";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  guessDateOrder,
  guessMapping,
  hasDateOrder,
  planProblems,
  targetColumns,
} from "../../../src/console/pages/jobs/import/columns.ts";
import {
  detectFormat,
  importPath,
  NdjsonReader,
  MAX_FILE_BYTES,
  MAX_XLSX_BYTES,
  type ImportFailure,
  type ImportLine,
  type ImportPlan,
} from "../../../src/console/pages/jobs/import/import-api.ts";
import { errorsFile } from "../../../src/console/pages/jobs/import/errors-file.ts";
import { delimiterAfter, detectEncoding } from "../../../src/console/pages/jobs/import/file-encoding.ts";
import { problemKinds } from "../../../src/console/pages/jobs/import/problem-kinds.ts";
import { MAX_IMPORT_BYTES } from "../../../src/api/console/import.routes.ts";
import { fileColumns } from "../../../src/jobs/import-export/file-codec.ts";
import { MAX_XLSX_BYTES as SERVER_MAX_XLSX_BYTES, readXlsx } from "../../../src/core/records/xlsx.ts";

const plan: ImportPlan = {
  fileName: "x.csv",
  format: "csv",
  encoding: null,
  delimiter: ",",
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

  it("maps each target once, prefers exact names, and skips columns with the same name", () => {
    expect(guessMapping(["Date", "scheduled_date"], targetColumns)).toEqual([null, "scheduled_date"]);
    expect(guessMapping(["Qty", "Pieces"], targetColumns)).toEqual([null, "piece_quantity"]);
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
    const message = `Choose whether day or month comes first in dates such as ${date}.`;
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

describe("the file of failed rows", () => {
  const failures: ImportFailure[] = [
    {
      line: 3,
      marking_number: "=HYPERLINK(1)",
      problems: [
        { field: "weight", message: "must be a number with a point, such as 8.25" },
        { field: "scheduled_date", message: "must be a date, such as 2026-12-31" },
      ],
      cells: ["=HYPERLINK(1)", "31.12.2026", "Café; 2"],
    },
    {
      line: 5,
      marking_number: null,
      problems: [{ field: null, message: "has 4 cells" }],
      cells: ["0042", "", "", "x"],
    },
    { line: 7, marking_number: null, problems: [{ field: null, message: "opens a quote" }], cells: [] },
  ];
  const own: ImportPlan = { ...plan, fileName: "my.jobs.csv", names: ["No", "Day", "Place"], delimiter: ";" };

  it("has the original rows in the original separator, with the reason, and keeps formulas from running", async () => {
    const file = await errorsFile(own, failures);
    expect(file.name).toBe("my.jobs-errors.csv");
    expect((await file.text()).split("\r\n")).toEqual([
      "No;Day;Place;;Error",
      '\'=HYPERLINK(1);31.12.2026;"Café; 2";;"Weight must be a number with a point, such as 8.25; Scheduled date must be a date, such as 2026-12-31"',
      "0042;;;x;The row has 4 cells",
      ";;;;The row opens a quote",
      "",
    ]);
    expect([...new Uint8Array(await file.arrayBuffer()).subarray(0, 3)]).toEqual([0xef, 0xbb, 0xbf]);
    expect(guessMapping(["Error"], targetColumns)).toEqual([null]);
  });

  it("is a workbook with texts if the file was one, and a list without the rows of NDJSON", async () => {
    const workbook = await errorsFile({ ...own, format: "xlsx" }, failures);
    expect(workbook.name).toBe("my.jobs-errors.xlsx");
    const rows = await Array.fromAsync(
      readXlsx(Readable.from([new Uint8Array(await workbook.arrayBuffer())])),
    );
    expect(rows[2]?.content).toMatchObject({ cells: [{ text: "0042" }, {}, {}, { text: "x" }, {}] });
    const list = await errorsFile({ ...own, format: "ndjson", delimiter: "," }, failures);
    expect((await list.text()).split("\r\n").slice(0, 2)).toEqual([
      "line,marking_number,field,reason",
      '3,\'=HYPERLINK(1),weight,"must be a number with a point, such as 8.25"',
    ]);
  });
});

const statusProblem = (line: number, text: string): ImportFailure => ({
  line,
  marking_number: "A",
  problems: [{ field: "normalized_status", message: `is not the code of a status: ${JSON.stringify(text)}` }],
  cells: ["A", text],
});

it("groups problems by column and message without the quoted text, the most frequent first", () => {
  const failures = [
    {
      line: 2,
      marking_number: null,
      problems: [{ field: "marking_number", message: "is missing" }],
      cells: ["", "x"],
    },
    ...["Zugestellt", "Zugestellt", 'a "b"', "c", "d"].map((text, index) => statusProblem(index + 3, text)),
  ];
  const kinds = problemKinds(
    { names: ["No", "State"], mapping: ["marking_number", "normalized_status"] },
    failures,
  );
  expect(kinds.map(({ field, message, count }) => [field, message, count])).toEqual([
    ["normalized_status", "is not the code of a status", 5],
    ["marking_number", "is missing", 1],
  ]);
  expect(kinds[0]?.examples).toEqual([
    { line: 3, text: "Zugestellt" },
    { line: 5, text: 'a "b"' },
    { line: 6, text: "c" },
  ]);
});

describe("the encoding and separator of a file", () => {
  const long = "x".repeat(200_000);

  it.each([
    ["UTF-8", Buffer.from(`${long}é`), null],
    ["Windows-1252 far behind the first rows", Buffer.from(`${long}\u00E9`, "latin1"), "windows-1252"],
    ["UTF-8 that ends within a character", Buffer.from("é").subarray(0, 1), "windows-1252"],
    ["UTF-16", Buffer.from("\uFEFFé", "utf16le"), "utf-16le"],
  ])("detects %s", async (_what, bytes, encoding) => {
    expect(await detectEncoding(new Blob([bytes]))).toBe(encoding);
  });

  it.each([
    ["No;Day", "No", ";"],
    ['"No, or so"\tDay', "No, or so", "\t"],
    ["No,Day;x", "No", ","],
    ["No", "No", ","],
  ])("finds the separator of %s", (start, name, delimiter) => {
    expect(delimiterAfter(start, name)).toBe(delimiter);
  });
});

it("chooses the order of dates that only one order allows", () => {
  const mapping = ["scheduled_date", null];
  const order = (...days: string[]) =>
    guessDateOrder(
      { format: "csv", mapping },
      days.map((day) => [day, "31/12/2026"]),
    );
  expect(order("01/02/2026", "31/12/2026")).toBe("dmy");
  expect(order("12-31-2026")).toBe("mdy");
  expect([order("01/02/2026"), order("2026-12-31"), order("31/12/2026", "12/31/2026")]).toEqual([
    null,
    null,
    null,
  ]);
});
