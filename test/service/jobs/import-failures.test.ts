import { describe, expect, it } from "vitest";
import { importJobs } from "../../../src/jobs/import-export/import.ts";
import { readRows } from "../../../src/jobs/import-export/import-rows.ts";
import {
  defaultAgent,
  streamBytes,
  context,
  countsOf,
  problemsOf,
  useJobImportFixture,
} from "../../support/jobs/import.fixture.ts";
import { newMarkingNumber } from "../../support/jobs/service.fixture.ts";

const { services, importFile, importNdjson, readJob: jobOf } = useJobImportFixture();

const CONTROL_CHARACTERS = "must not contain control characters, such as a tab or a line break";

describe("a failed row", () => {
  const validCells: Record<string, string> = {
    piece_quantity: "1",
    weight: "1",
    scheduled_date: "2026-01-01",
    scheduled_delivery_pending: "true",
    normalized_status: "pending",
  };

  it.each([
    ["marking_number", "is missing", ""],
    ["marking_number", "must be at most 120 characters", "x".repeat(121)],
    ["marking_number", "must not start with TEST-, which only test jobs do", "TEST-4K7Q2M9XR3VD"],
    ["marking_number", CONTROL_CHARACTERS, '"A\u001b]0;title\u0007"'],
    ["marking_number", CONTROL_CHARACTERS, '"B\tC"'],
    ["piece_quantity", "must be a whole number, such as 3", "3.0"],
    ["piece_quantity", "must be a whole number, such as 3", " 3"],
    ["piece_quantity", "must be at most 2147483647", "2147483648"],
    ["weight", "must be a number with a point, such as 8.25", "0x10"],
    ["weight", "must be a number with a point, such as 8.25", "1e400"],
    ["weight", "must be a number with a point, such as 8.25", '"1,5"'],
    ["scheduled_date", "must be a date, such as 2026-12-31", "24/11/2026"],
    ["scheduled_delivery_pending", "must be true or false", "yes"],
    ["normalized_status", "must not be empty", ""],
    ["normalized_status", 'is not the code of a status: "done"', "done"],
    ["postal_code", "must be at most 60 characters", "𝒳".repeat(61)],
    ["recipient_name", "must not contain U+0000", "a\0b"],
    ["provider_status", "must be at most 255 characters", "x".repeat(256)],
  ])("is reported with line, field and reason: %s %s", async (field, message, cell) => {
    const fine = newMarkingNumber();
    const number = field === "marking_number" ? "" : `${newMarkingNumber()},`;
    const header = field === "marking_number" ? "marking_number,labels" : `marking_number,${field},labels`;
    const rest = field === "marking_number" ? "" : `${validCells[field] ?? "text"},`;
    const result = await importFile(`${header}\n${number}${cell},x\n${fine},${rest}x\n`);
    expect(problemsOf(result)).toEqual([[2, field, message]]);
    expect(countsOf(result)).toEqual([1, 0, 0, 1]);
  });

  it("is reported with its Marking Number and all its problems", async () => {
    const number = newMarkingNumber();
    const { failures } = await importNdjson([
      { marking_number: number, weight: "1", piece_quantity: 0, agent: 7, id: "job_1", wieght: 1 },
    ]);
    expect(failures).toEqual([
      {
        line: 1,
        markingNumber: number,
        problems: [
          { field: "id", message: "is not a column of jobs" },
          { field: "wieght", message: "is not a column of jobs; did you mean weight?" },
          { field: "agent", message: "must be a string" },
          { field: "piece_quantity", message: "must be at least 1" },
          { field: "weight", message: "must be a number with a point, such as 8.25" },
        ],
      },
    ]);
  });

  it("has its cells as they are in the file, or none if it is malformed or NDJSON", async () => {
    const number = newMarkingNumber();
    const { failures } = await importFile(`marking_number,weight\n${number},"1,5"\n"a"b\n${number},'+1,x\n`);
    expect(failures.map(({ cells }) => cells)).toEqual([[number, "1,5"], [], [number, "'+1", "x"]]);
    expect((await importNdjson([{ weight: 1 }])).failures).toMatchObject([{ cells: undefined }]);
  });

  it("has more or fewer cells than the header", async () => {
    const result = await importFile(
      `marking_number,weight\n${newMarkingNumber()}\n${newMarkingNumber()},1,2\n${newMarkingNumber()},1\n`,
    );
    expect(problemsOf(result)).toEqual([
      [2, null, "has 1 cells where the header has 2"],
      [3, null, "has 3 cells where the header has 2"],
    ]);
    expect(countsOf(result)).toEqual([1, 0, 0, 2]);
  });

  it("can have invalid UTF-8", async () => {
    const latin1 = Buffer.from(
      `marking_number,recipient_name\n${newMarkingNumber()},Zo\u00EB\n${newMarkingNumber()},Zoe\n`,
      "latin1",
    );
    const result = await importFile(latin1);
    expect(problemsOf(result)).toEqual([
      [2, "recipient_name", "is not valid UTF-8; save the file as “CSV UTF-8”"],
    ]);
    expect(countsOf(result)).toEqual([1, 0, 0, 1]);
    const json = Buffer.concat([
      Buffer.from('{"marking_number":"'),
      Buffer.from([0xff]),
      Buffer.from('"}\n'),
    ]);
    expect(problemsOf(await importFile(json, defaultAgent, "ndjson"))).toEqual([
      [1, null, "is not valid UTF-8"],
    ]);
  });

  it("does not result from invalid UTF-8 in an ignored column", async () => {
    const number = newMarkingNumber();
    const latin1 = Buffer.from(`No,Zo\u00EB\n${number},Zo\u00EB\n`, "latin1");
    const rows = readRows(streamBytes(latin1), {
      format: "csv",
      columns: new Map([["No", "marking_number"]]),
    });
    const reports = await Array.fromAsync(
      importJobs(services(), rows, { dryRun: false, ...context, ...defaultAgent }),
    );
    expect(reports.map(({ counts }) => counts)).toEqual([
      { created: 1, updated: 0, unchanged: 0, failed: 0 },
    ]);
    expect((await jobOf(number))["marking_number"]).toBe(number);
  });

  it("can be an NDJSON line that is not an object, and later lines are imported", async () => {
    const result = await importNdjson([
      "{",
      "[]",
      "null",
      '"x"',
      "7",
      { marking_number: newMarkingNumber() },
      '{"marking_number":"\\ud800"}',
    ]);
    expect(problemsOf(result)).toEqual([
      [1, null, "is not valid JSON"],
      [2, null, "is not a JSON object"],
      [3, null, "is not a JSON object"],
      [4, null, "is not a JSON object"],
      [5, null, "is not a JSON object"],
      [7, "marking_number", "must not contain a lone surrogate"],
    ]);
    expect(countsOf(result)).toEqual([1, 0, 0, 6]);
  });
});
