/** From the bytes of a file to the rows to import: each with its line, its values by column, or why it cannot be read. */
import { readCsv, type CsvCell, type CsvRecord } from "../platform/csv.ts";
import { readNdjson } from "../platform/ndjson.ts";
import type { StreamRecord } from "../platform/record-stream.ts";
import { fromSpreadsheetText } from "../platform/spreadsheet-text.ts";
import {
  isTextColumn,
  readHeader,
  valueOfCell,
  wrongHeader,
  type ColumnNames,
  type FileColumn,
} from "./job.file.ts";

/** What is wrong with a row. `field` is its column, or null for the row as a whole; `message` is a predicate. */
export interface RowProblem {
  readonly field: string | null;
  readonly message: string;
}

/** `line` is the physical line in the file that the row starts on, from 1. */
export type ImportRow = { readonly line: number } & (
  | { readonly values: Readonly<Record<string, unknown>> }
  | { readonly problems: readonly RowProblem[] }
);

export const fileFormats = ["csv", "ndjson"] as const;
export type FileFormat = (typeof fileFormats)[number];

export interface FileReading {
  format: FileFormat;
  /** The file's own names; absent: it has ours. */
  columns?: ColumnNames | undefined;
}

/** Reads as the rows are asked for. A CSV header that cannot be used throws BadRequestException before the first row. */
export function readRows(chunks: AsyncIterable<Uint8Array>, reading: FileReading): AsyncGenerator<ImportRow> {
  return reading.format === "csv" ? csvRows(chunks, reading) : ndjsonRows(chunks, reading);
}

async function* csvRows(chunks: AsyncIterable<Uint8Array>, reading: FileReading): AsyncGenerator<ImportRow> {
  let columns: (FileColumn | null)[] | null = null;
  for await (const record of readCsv(chunks)) {
    if (columns === null) columns = columnsOf(record.content, reading);
    else yield csvRow(columns, record);
  }
  if (columns === null) throw wrongHeader("The file is empty: its first line names the columns");
}

function columnsOf(header: CsvRecord, { columns }: FileReading): (FileColumn | null)[] {
  if ("fault" in header) throw wrongHeader(`The header ${header.fault}`);
  const [first] = header.cells;
  if (header.cells.length === 1 && /[;\t|]/.test(first?.text ?? "")) {
    throw wrongHeader("The header is a single cell: columns are set apart by commas");
  }
  return readHeader(header.cells, ["marking_number"], columns);
}

function csvRow(
  columns: readonly (FileColumn | null)[],
  { line, content, hasByteOrderMark }: StreamRecord<CsvRecord>,
): ImportRow {
  if ("fault" in content) return { line, problems: [{ field: null, message: content.fault }] };
  const { cells } = content;
  if (cells.length !== columns.length) {
    return {
      line,
      problems: [
        { field: null, message: `has ${cells.length} cells where the header has ${columns.length}` },
      ],
    };
  }
  const undecoded = columns.filter((column, at) => column !== null && cells[at]?.text === null);
  if (undecoded.length > 0) {
    return { line, problems: undecoded.map((field) => ({ field, message: "is not valid UTF-8" })) };
  }
  const values = columns.flatMap((column, at) =>
    column === null ? [] : [[column, valueOf(column, cells[at], hasByteOrderMark)] as const],
  );
  return { line, values: Object.fromEntries(values) };
}

/** Our only files with a byte order mark are spreadsheet exports, whose texts are escaped. */
function valueOf(column: FileColumn, cell: CsvCell | undefined, isSpreadsheet: boolean): unknown {
  const text = cell?.text ?? "";
  const isEscaped = isSpreadsheet && isTextColumn(column);
  return valueOfCell(column, isEscaped ? fromSpreadsheetText(text) : text, cell?.isQuoted ?? false);
}

async function* ndjsonRows(
  chunks: AsyncIterable<Uint8Array>,
  { columns }: FileReading,
): AsyncGenerator<ImportRow> {
  for await (const { line, content } of readNdjson(chunks)) {
    yield "value" in content
      ? { line, values: columns ? named(content.value, columns) : content.value }
      : { line, problems: [{ field: null, message: content.fault }] };
  }
}

/** The values under our names; a key that is not there stays absent. */
function named(value: Readonly<Record<string, unknown>>, columns: ColumnNames): Record<string, unknown> {
  return Object.fromEntries(
    Array.from(columns).flatMap(([name, column]) =>
      Object.hasOwn(value, name) ? [[column, value[name]]] : [],
    ),
  );
}
