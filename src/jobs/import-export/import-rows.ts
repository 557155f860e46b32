/** Parses CSV, NDJSON and Excel files into rows. Each row has its line and either its values by column or its problems. */
import { ReadableStream, TextDecoderStream, TextEncoderStream } from "node:stream/web";
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

/**
 * `line` is the line of the file on which the row starts, or the row of the sheet, counted from 1. `cells` are the texts of a table's row,
 * empty for a malformed one.
 */
export type ImportRow = { readonly line: number; readonly cells?: readonly string[] } & (
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
  /** Of a CSV file; absent for UTF-8. */
  encoding?: FileEncoding | undefined;
}

/** Encodings of CSV besides UTF-8: what Excel writes as CSV in Western Europe, and as “Unicode text”. */
export const fileEncodings = ["windows-1252", "utf-16le"] as const;
export type FileEncoding = (typeof fileEncodings)[number];

/** The records of a CSV file or of the first sheet of a workbook. Another encoding of CSV is converted to UTF-8. */
export function readTable(
  chunks: AsyncIterable<Uint8Array>,
  { format, encoding }: { format: "csv" | "xlsx"; encoding?: FileEncoding | undefined },
): AsyncGenerator<StreamRecord<CsvRecord>> {
  if (format === "xlsx") return readXlsx(chunks);
  if (encoding === undefined) return readCsv(chunks);
  const texts = ReadableStream.from(chunks).pipeThrough(new TextDecoderStream(encoding));
  return readCsv(texts.pipeThrough(new TextEncoderStream()));
}

/** Reads rows on demand. Throws BadRequestException before the first row if the header is invalid. */
export function readRows(
  chunks: AsyncIterable<Uint8Array>,
  options: FileReadOptions,
): AsyncGenerator<ImportRow> {
  const { format, encoding } = options;
  if (format === "ndjson") return ndjsonRows(chunks, options);
  return tableRows(readTable(chunks, { format, encoding }), options);
}

async function* tableRows(
  records: AsyncIterable<StreamRecord<CsvRecord>>,
  options: FileReadOptions,
): AsyncGenerator<ImportRow> {
  let columns: (FileColumn | null)[] | null = null;
  for await (const record of records) {
    if (columns !== null) yield parseTableRow(columns, record, options.dates);
    else if ("error" in record.content) throw invalidHeader(`The header ${record.content.error}`);
    else columns = parseHeader(record.content.cells, options.columns);
  }
  if (columns === null) throw invalidHeader("The file is empty; its first line must name the columns");
}

function parseTableRow(
  columns: readonly (FileColumn | null)[],
  record: StreamRecord<CsvRecord>,
  dates: DateOrder | undefined,
): ImportRow {
  const { content } = record;
  const cells = "cells" in content ? content.cells : [];
  const row = { line: record.line, cells: cells.map(({ text }) => text ?? "") };
  if ("error" in content) return { ...row, problems: [{ field: null, message: content.error }] };
  if (cells.length !== columns.length) {
    const message = `has ${cells.length} cells where the header has ${columns.length}`;
    return { ...row, problems: [{ field: null, message }] };
  }
  const undecodableColumns = columns.filter(
    (column, index) => column !== null && cells[index]?.text === null,
  );
  if (undecodableColumns.length > 0) {
    return { ...row, problems: undecodableColumns.map((field) => ({ field, message: NOT_UTF8 })) };
  }
  const values = columns.flatMap((column, index) =>
    column === null ? [] : [[column, parseCell(column, cells[index], dates)] as const],
  );
  return { ...row, values: Object.fromEntries(values) };
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
