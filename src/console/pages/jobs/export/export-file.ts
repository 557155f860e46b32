/** Writes rows as an Excel workbook or CSV while they arrive, so that only the finished file is held, in compressed form for Excel. */
import type { XlsxStreamRow } from "hucre/xlsx";
import { BYTE_ORDER_MARK, csvLine } from "../../../app/csv.ts";
import type { ExportKind, ExportValue } from "./export.columns.ts";

export type ExportFormat = "xlsx" | "csv";

export interface FileColumn {
  header: string;
  kind: ExportKind;
}

export const mediaTypes: Record<ExportFormat, string> = {
  xlsx: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
  csv: "text/csv",
};

/** `@` keeps a text as such when a user edits it: leading zeros, and the plus sign of a phone number. */
const cellStyles: Record<ExportKind, { numFmt?: string; width: number }> = {
  text: { numFmt: "@", width: 24 },
  number: { width: 10 },
  day: { numFmt: "yyyy-mm-dd", width: 12 },
  time: { numFmt: "yyyy-mm-dd hh:mm:ss", width: 28 },
};

/** Rejects with the error that `rows` throws. */
export async function writeFile(
  format: ExportFormat,
  columns: readonly FileColumn[],
  rows: AsyncIterable<ExportValue[]>,
): Promise<Blob> {
  const bytes = format === "xlsx" ? await xlsxBytes(columns, rows) : csvBytes(columns, rows);
  return await new Response(bytes, { headers: { "Content-Type": mediaTypes[format] } }).blob();
}

async function xlsxBytes(columns: readonly FileColumn[], rows: AsyncIterable<ExportValue[]>) {
  // 10 kB that few pages need.
  const { writeXlsxStream } = await import("hucre/xlsx");
  return writeXlsxStream(cleanRows(rows), {
    name: "Jobs",
    columns: columns.map(({ header, kind }) => ({ header, ...cellStyles[kind] })),
    freezePane: { rows: 1 },
  });
}

/** Without the two characters that XML forbids and the library writes. */
async function* cleanRows(rows: AsyncIterable<ExportValue[]>): AsyncGenerator<XlsxStreamRow> {
  for await (const row of rows)
    yield row.map((value) =>
      typeof value === "string" ? value.replaceAll(/[\uFFFE\uFFFF]/g, "\uFFFD") : value,
    );
}

function csvBytes(columns: readonly FileColumn[], rows: AsyncIterable<ExportValue[]>) {
  const iterator = rows[Symbol.asyncIterator]();
  const encoder = new TextEncoder();
  return new ReadableStream<Uint8Array>({
    start(controller) {
      controller.enqueue(encoder.encode(BYTE_ORDER_MARK + csvLine(columns.map(({ header }) => header))));
    },
    async pull(controller) {
      const step = await iterator.next();
      if (step.done === true) controller.close();
      else
        controller.enqueue(
          encoder.encode(csvLine(step.value.map((cell, index) => csvCell(cell, columns[index]?.kind)))),
        );
    },
  });
}

/** Spreadsheets in all languages read 2026-12-31 and 2026-12-31 14:05:00 as dates. */
function csvCell(value: ExportValue, kind: ExportKind | undefined): string | number {
  if (!(value instanceof Date)) return value ?? "";
  const text = value.toISOString();
  return kind === "day" ? text.slice(0, 10) : text.slice(0, 19).replace("T", " ");
}
