/** Parses CSV, NDJSON and Excel files into rows. Each row has its line and either its values by column or its problems. */
import { readCsv, type CsvRecord } from "../../core/records/csv.ts";
import { readNdjson } from "../../core/records/ndjson.ts";
import type { StreamRecord } from "../../core/records/record-reader.ts";
import { readXlsx } from "../../core/records/xlsx.ts";
import {
  parseHeader,
  parseCell,
  invalidHeader,
  NOT_UTF8,
  type ColumnMapping,
  type DateOrder,
  type FileColumn,
} from "./file-codec.ts";

/** `field` is the column, or null for the whole row. `message` has no subject, such as "must be a number". */
export interface RowProblem {
  readonly field: string | null;
  readonly message: string;
}

/** `line` is the line of the file on which the row starts, or the row of the sheet, counted from 1. */
export type ImportRow = { readonly line: number } & (
  | { readonly values: Readonly<Record<string, unknown>> }
  | { readonly problems: readonly RowProblem[] }
);

export const fileFormats = ["csv", "ndjson"] as const;
export type FileFormat = (typeof fileFormats)[number];
export const importFormats = [...fileFormats, "xlsx"] as const;
export type ImportFormat = (typeof importFormats)[number];

export interface FileReadOptions {
  format: ImportFormat;
  /** Maps the file's column names to ours; absent if the file uses ours. */
  columns?: ColumnMapping | undefined;
  /** How a CSV or Excel file writes dates as text, besides YYYY-MM-DD. */
  dates?: DateOrder | undefined;
}

/** Reads rows on demand. Throws BadRequestException before the first row if the header is invalid. */
export function readRows(
  chunks: AsyncIterable<Uint8Array>,
  options: FileReadOptions,
): AsyncGenerator<ImportRow> {
  if (options.format === "ndjson") return ndjsonRows(chunks, options);
  return tableRows(options.format === "csv" ? readCsv(chunks) : readXlsx(chunks), options);
}

async function* tableRows(
  records: AsyncIterable<StreamRecord<CsvRecord>>,
  options: FileReadOptions,
): AsyncGenerator<ImportRow> {
  let columns: (FileColumn | null)[] | null = null;
  for await (const record of records) {
    if (columns === null) columns = parseTableHeader(record.content, options);
    else yield parseTableRow(columns, record, options.dates);
  }
  if (columns === null) throw invalidHeader("The file is empty; its first line must name the columns");
}

function parseTableHeader(header: CsvRecord, { columns }: FileReadOptions): (FileColumn | null)[] {
  if ("error" in header) throw invalidHeader(`The header ${header.error}`);
  const [first] = header.cells;
  if (header.cells.length === 1 && first?.text?.includes("|") === true) {
    throw invalidHeader("The header has a single column; separate columns by commas, semicolons or tabs");
  }
  return parseHeader(header.cells, ["marking_number"], columns);
}

function parseTableRow(
  columns: readonly (FileColumn | null)[],
  { line, content }: StreamRecord<CsvRecord>,
  dates: DateOrder | undefined,
): ImportRow {
  if ("error" in content) return { line, problems: [{ field: null, message: content.error }] };
  const { cells } = content;
  if (cells.length !== columns.length) {
    return {
      line,
      problems: [
        { field: null, message: `has ${cells.length} cells where the header has ${columns.length}` },
      ],
    };
  }
  const undecodableColumns = columns.filter(
    (column, index) => column !== null && cells[index]?.text === null,
  );
  if (undecodableColumns.length > 0) {
    return { line, problems: undecodableColumns.map((field) => ({ field, message: NOT_UTF8 })) };
  }
  const values = columns.flatMap((column, index) =>
    column === null ? [] : [[column, parseCell(column, cells[index], dates)] as const],
  );
  return { line, values: Object.fromEntries(values) };
}

async function* ndjsonRows(
  chunks: AsyncIterable<Uint8Array>,
  { columns }: FileReadOptions,
): AsyncGenerator<ImportRow> {
  for await (const { line, content } of readNdjson(chunks)) {
    yield "value" in content
      ? { line, values: columns ? mapColumns(content.value, columns) : content.value }
      : { line, problems: [{ field: null, message: content.error }] };
  }
}

/** The values under our column names. Absent keys stay absent. */
function mapColumns(
  value: Readonly<Record<string, unknown>>,
  columns: ColumnMapping,
): Record<string, unknown> {
  return Object.fromEntries(
    Array.from(columns).flatMap(([name, column]) =>
      Object.hasOwn(value, name) ? [[column, value[name]]] : [],
    ),
  );
}
