import { strFromU8, unzipSync } from "fflate";
import { Readable } from "node:stream";
import { describe, expect, it } from "vitest";
import { exportColumns, type ExportValue } from "../../../src/console/pages/jobs/export/export.columns.ts";
import { writeFile, type ExportFormat } from "../../../src/console/pages/jobs/export/export-file.ts";
import type { ColumnId } from "../../../src/console/pages/jobs/filters/jobs.search.ts";
import type { JobRowFragment } from "../../../src/console/generated/job-row.ts";
import { readXlsx } from "../../../src/core/records/xlsx.ts";

const job = {
  markingNumber: "00042",
  recipientContact: "+44 20 7946 0123",
  recipientName: "=HYPERLINK(1)",
  status: { label: "Delivery failed" },
  failureReason: "wrong_address",
  agent: { name: "Example Agency" },
  contractor: null,
  scheduledDate: "2026-11-30",
  scheduledDeliveryDate: "2026-12-31",
  weight: -8.25,
  updatedAt: "2026-12-31T23:30:05.123Z",
} as JobRowFragment;

const columnsOf = (shown: readonly ColumnId[], zone = "UTC") =>
  exportColumns({
    shown,
    zone,
    headerOf: (id) => `The ${id}`,
    labels: {
      statuses: new Map(),
      organizations: new Map(),
      reasons: new Map([["wrong_address", "Wrong address"]]),
    },
  });

async function fileOf(format: ExportFormat, shown: readonly ColumnId[], zone?: string): Promise<Uint8Array> {
  const columns = columnsOf(shown, zone);
  const rows = async function* (): AsyncGenerator<ExportValue[]> {
    yield columns.map(({ value }) => value(job));
  };
  return new Uint8Array(await (await writeFile(format, columns, rows())).arrayBuffer());
}

async function* rowsThenError(error: Error | null): AsyncGenerator<ExportValue[]> {
  yield ["a\uFFFE\u0001b"];
  if (error) throw error;
}

async function readRows(workbook: Uint8Array): Promise<(string | null)[][]> {
  const records = await Array.fromAsync(readXlsx(Readable.from([workbook])));
  return records.map(({ content }) => ("cells" in content ? content.cells.map(({ text }) => text) : []));
}

const partOf = (workbook: Uint8Array, name: string): string =>
  strFromU8(unzipSync(workbook)[name] ?? new Uint8Array());
const sheetOf = (workbook: Uint8Array): string => partOf(workbook, "xl/worksheets/sheet1.xml");

describe("an export for people", () => {
  it("has the columns of the list in its order, with names, labels and the time of the zone", async () => {
    const shown = ["status", "failureReason", "due", "agent", "contractor", "updatedAt"] as const;
    const text = new TextDecoder().decode(await fileOf("csv", shown, "Pacific/Auckland"));
    expect(text.split("\r\n")).toEqual([
      "Marking Number,The status,The failureReason,The due,The agent,The contractor,The updatedAt (Pacific/Auckland)",
      "00042,Delivery failed,Wrong address,2026-12-31,Example Agency,,2027-01-01 12:30:05",
      "",
    ]);
  });

  it("starts CSV with a byte order mark and keeps formulas from running, but not numbers from being negative", async () => {
    const bytes = await fileOf("csv", ["recipientName", "recipientContact", "weight"]);
    expect([...bytes.subarray(0, 3)]).toEqual([0xef, 0xbb, 0xbf]);
    expect(new TextDecoder().decode(bytes).split("\r\n")[1]).toBe(
      "00042,'=HYPERLINK(1),'+44 20 7946 0123,-8.25",
    );
  });

  it("writes texts of a workbook as texts, and numbers, days and times as such", async () => {
    const shown = ["recipientName", "recipientContact", "weight", "scheduledDate", "updatedAt"] as const;
    const workbook = await fileOf("xlsx", shown, "Europe/Berlin");
    expect((await readRows(workbook))[1]).toEqual([
      "00042",
      "=HYPERLINK(1)",
      "+44 20 7946 0123",
      "-8.25",
      "2026-11-30",
      "2027-01-01T00:30:05.000Z",
    ]);
    const sheet = sheetOf(workbook);
    expect(sheet).toMatch(/<c r="A2" t="inlineStr" s="[1-9]/);
    // The format of text, which keeps the zeros when a user edits the cell.
    expect(partOf(workbook, "xl/styles.xml")).toMatch(/numFmtId="49"|formatCode="@"/);
    expect(sheet).not.toContain("<f>");
    expect(sheet).toMatch(/<c r="D2"[^>]*><v>-8.25</);
    expect(sheet).toMatch(/<c r="E2"[^>]*><v>46356</);
  });

  it("keeps days before the calendar of spreadsheets as text, and leaves out characters that XML forbids", async () => {
    const [, , day] = columnsOf(["status", "scheduledDate"]);
    expect(day?.value({ ...job, scheduledDate: "0001-01-01" })).toBe("0001-01-01");
    const file = await writeFile("xlsx", [{ header: "Text", kind: "text" }], rowsThenError(null));
    const sheet = sheetOf(new Uint8Array(await file.arrayBuffer()));
    expect(sheet).toContain("a\uFFFD_x0001_b");
  });

  it("rejects with the error that stops the rows", async () => {
    const stopped = new Error("stopped");
    for (const format of ["xlsx", "csv"] as const)
      await expect(
        writeFile(format, [{ header: "Text", kind: "text" }], rowsThenError(stopped)),
      ).rejects.toThrow("stopped");
  });
});
