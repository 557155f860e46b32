/** Reads the column names and first rows of an import file, so that a user can choose what each column is. */
import { Readable } from "node:stream";
import { badRequest } from "../../core/errors.ts";
import { readNdjson } from "../../core/records/ndjson.ts";
import { type FileEncoding, type ImportFormat, readTable } from "./import-rows.ts";

export interface FileSample {
  names: string[];
  /** The first rows, with one text per name, cut to 200 characters. Missing cells are empty. */
  rows: string[][];
}

/** The start of a CSV or NDJSON file that is read. */
export const SAMPLE_BYTES = 65_536;
const SAMPLE_ROWS = 5;
const MAX_COLUMNS = 200;
const MAX_TEXT_LENGTH = 200;

/** Throws BadRequestException if the file has no rows, more than 200 columns, or text in another encoding than UTF-8. */
export async function readSample(
  chunks: AsyncIterable<Uint8Array>,
  { format, encoding }: { format: ImportFormat; encoding?: FileEncoding | undefined },
): Promise<FileSample> {
  const { names, rows } =
    format === "ndjson" ? await sampleOfObjects(chunks) : await sampleOfTable(chunks, { format, encoding });
  if (names.length > MAX_COLUMNS) throw badRequest([], `This file has more than ${MAX_COLUMNS} columns.`);
  if (rows.length === 0) throw badRequest([], "This file has no rows.");
  return { names, rows: rows.map((row) => row.map((text) => text.slice(0, MAX_TEXT_LENGTH))) };
}

async function sampleOfTable(
  chunks: AsyncIterable<Uint8Array>,
  file: Parameters<typeof readTable>[1],
): Promise<FileSample> {
  const start = file.format === "csv" ? await readStart(chunks) : null;
  const records: string[][] = [];
  for await (const { content } of readTable(start ? Readable.from([start]) : chunks, file)) {
    // A stray quote: the import reports it with its line number.
    if ("error" in content) continue;
    if (content.cells.some(({ text }) => text === null || text.includes("\0")))
      throw badRequest([], "This file is not in UTF-8. Save it as “CSV UTF-8” and choose it again.");
    records.push(content.cells.map(({ text }) => text ?? ""));
    if (records.length > SAMPLE_ROWS + 1) break;
  }
  // The last record may be incomplete.
  if (start?.length === SAMPLE_BYTES) records.pop();
  const [names, ...rows] = records;
  if (!names) throw badRequest([], "This file is empty.");
  if (names.length === 1 && names[0]?.includes("|") === true)
    throw badRequest([], "The columns of this file must be separated by commas, semicolons or tabs.");
  return { names, rows: rows.slice(0, SAMPLE_ROWS).map((row) => names.map((_, index) => row[index] ?? "")) };
}

async function sampleOfObjects(chunks: AsyncIterable<Uint8Array>): Promise<FileSample> {
  const values: Readonly<Record<string, unknown>>[] = [];
  for await (const { content } of readNdjson(Readable.from([await readStart(chunks)]))) {
    if ("value" in content) values.push(content.value);
    if (values.length === SAMPLE_ROWS) break;
  }
  if (values.length === 0) throw badRequest([], "The lines of this file are not JSON objects.");
  const names = [...new Set(values.flatMap((value) => Object.keys(value)))];
  return { names, rows: values.map((value) => names.map((name) => toText(value[name]))) };
}

function toText(value: unknown): string {
  if (value === undefined || value === null) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}

async function readStart(chunks: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const read: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of chunks) {
    read.push(chunk);
    size += chunk.length;
    if (size >= SAMPLE_BYTES) break;
  }
  return Buffer.concat(read).subarray(0, SAMPLE_BYTES);
}
