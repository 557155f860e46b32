import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  guessMapping,
  mappingProblems,
  targetColumns,
} from "../../../src/console/pages/operator/import/columns.ts";
import { detectFormat, readFileSample } from "../../../src/console/pages/operator/import/file-sample.ts";
import {
  failuresAsCsv,
  importPath,
  LineReader,
  MAX_FILE_BYTES,
  type ImportLine,
} from "../../../src/console/pages/operator/import/import-api.ts";
import { MAX_IMPORT_BYTES } from "../../../src/http/console-api/import.routes.ts";
import { fileColumns } from "../../../src/jobs/import-export/file-codec.ts";
import { csvLine } from "../../../src/platform/records/csv.ts";

describe("the columns of a file", () => {
  it("can be those that the server knows, and no others", () => {
    expect(targetColumns.map(({ name }) => name)).toEqual(fileColumns);
  });

  it("are known by the contract's names, in camel case, and in words", () => {
    expect(guessMapping(fileColumns)).toEqual(fileColumns);
    expect(guessMapping(["markingNumber", "Delivery Address", "POSTAL-CODE", "Piece quantity"])).toEqual([
      "marking_number",
      "delivery_address",
      "postal_code",
      "piece_quantity",
    ]);
  });

  it("are known by what others call them, and left out otherwise", () => {
    expect(guessMapping(["Tracking No.", "Consignee", "Qty", "Colour", ""])).toEqual([
      "marking_number",
      "recipient_name",
      "piece_quantity",
      null,
      null,
    ]);
  });

  it("become each of ours once, the exact name first", () => {
    expect(guessMapping(["Date", "scheduled_date"])).toEqual([null, "scheduled_date"]);
    expect(guessMapping(["Qty", "Pieces"])).toEqual([null, "piece_quantity"]);
  });

  it("are left out where their name stands twice", () => {
    expect(guessMapping(["weight", "weight", "pts"])).toEqual([null, null, "pts"]);
  });

  it("need a Marking Number, and no agent", () => {
    expect(mappingProblems([null, "agent"])).toEqual(["Choose the column that holds the Marking Number."]);
    expect(mappingProblems(["marking_number", null])).toEqual([]);
  });
});

describe("the head of a CSV file", () => {
  it("has the names and the first five rows", () => {
    const text = `\uFEFFa,b\r\n${Array.from({ length: 9 }, (_, at) => `${at},x`).join("\r\n")}\r\n`;
    expect(readFileSample(text, "csv", true)).toEqual({
      names: ["a", "b"],
      rows: [0, 1, 2, 3, 4].map((at) => [String(at), "x"]),
    });
  });

  it("takes quotes, commas and line ends in cells, and cells that are not there", () => {
    expect(readFileSample('a,"b ""c""",d\n"1,\n2",,\n3\n', "csv", true)).toEqual({
      names: ["a", 'b "c"', "d"],
      rows: [
        ["1,\n2", "", ""],
        ["3", "", ""],
      ],
    });
  });

  it("leaves out the record that its end has cut, unless it is the end of the file", () => {
    expect(readFileSample("a,b\n1,2\n3,4", "csv", false).rows).toEqual([["1", "2"]]);
    expect(readFileSample("a,b\n1,2\n3,4", "csv", true).rows).toEqual([
      ["1", "2"],
      ["3", "4"],
    ]);
  });

  it("reads back what is written, whatever the cells hold", () => {
    const cell = fc.string().filter((text) => !text.includes("\0") && !text.startsWith("\uFEFF"));
    const record = fc.array(cell, { minLength: 2, maxLength: 6 });
    fc.assert(
      fc.property(record, record, (names, row) => {
        fc.pre(names.some((name) => name !== "") && row.some((text) => text !== ""));
        const head = readFileSample(`${csvLine(names)}\n${csvLine(row)}\n`, "csv", true);
        expect(head.names).toEqual(names);
        expect(head.rows).toEqual([names.map((_, at) => row[at] ?? "")]);
      }),
    );
  });

  it("says in words why a file is none", () => {
    expect(() => readFileSample("", "csv", true)).toThrow("empty");
    expect(() => readFileSample("a,b\n", "csv", true)).toThrow("no rows");
    expect(() => readFileSample("a;b\n1;2\n", "csv", true)).toThrow("commas");
    expect(() => readFileSample("a\0,b\0\n", "csv", true)).toThrow("UTF-8");
    expect(() => readFileSample(`${"a,".repeat(300)}b\n1\n`, "csv", true)).toThrow("200 columns");
  });
});

describe("the head of an NDJSON file", () => {
  it("has every key of the first rows, and values as text", () => {
    expect(readFileSample('{"a":1,"b":null}\n\n{"c":{"d":true},"a":"x"}\n{"e":', "ndjson", false)).toEqual({
      names: ["a", "b", "c"],
      rows: [
        ["1", "", ""],
        ["x", "", '{"d":true}'],
      ],
    });
  });

  it("is none where no line is an object", () => {
    expect(() => readFileSample("[1]\n2\n", "ndjson", true)).toThrow("not JSON objects");
  });
});

it("a file's format is what its name ends with", () => {
  expect(["a.csv", "b.JSONL", "c.ndjson", "d.xlsx", "csv"].map(detectFormat)).toEqual([
    "csv",
    "ndjson",
    "ndjson",
    null,
    null,
  ]);
});

it("the page takes as large a file as the server", () => {
  expect(MAX_FILE_BYTES).toBe(MAX_IMPORT_BYTES);
});

it("a plan is asked for with the columns that are used", () => {
  const path = importPath(
    {
      fileName: "x.csv",
      format: "csv",
      names: ["No", "Colour", "kg&"],
      mapping: ["marking_number", null, "weight"],
      agent: "org_1",
      contractor: null,
    },
    true,
  );
  const query = new URLSearchParams(path.slice(path.indexOf("?")));
  expect(Object.fromEntries(query)).toEqual({
    dry_run: "true",
    columns: '{"No":"marking_number","kg&":"weight"}',
    file_name: "x.csv",
    agent: "org_1",
  });
});

it("an answer's lines are read once each, however it is cut", () => {
  const counts = { created: 1, updated: 0, unchanged: 0, failed: 0 };
  const lines = [1, 2, 3].map((bytes): ImportLine => ({ type: "progress", bytes, counts }));
  const text = lines.map((line) => `${JSON.stringify(line)}\n`).join("");
  fc.assert(
    fc.property(fc.array(fc.nat(text.length)), (cuts) => {
      const reader = new LineReader();
      const read = [...cuts.toSorted((a, b) => a - b), text.length].flatMap((cut) =>
        reader.push(text.slice(0, cut)),
      );
      expect(read).toEqual(lines);
    }),
  );
});

it("failed rows become a file in which nothing is a formula", () => {
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
    "5,A;'=1+1,pts,must be\t'\uFF1D1",
    "",
  ]);
});
