/** Reads the first rows of an import file in the browser. */

export type FileFormat = "csv" | "ndjson";

export interface FileSample {
  names: string[];
  /** The first rows, with one text per name. Missing cells are empty. */
  rows: string[][];
}

/** Bytes read from the start of the file. */
export const SAMPLE_BYTES = 65_536;
const SAMPLE_ROWS = 5;
const MAX_COLUMNS = 200;

/** The format by file extension; null if it is not supported. */
export function detectFormat(fileName: string): FileFormat | null {
  const extension = /\.([a-z]+)$/i.exec(fileName)?.[1]?.toLowerCase();
  if (extension === "csv") return "csv";
  return extension === "ndjson" || extension === "jsonl" ? "ndjson" : null;
}

/** `isWhole`: the text is the whole file. Throws an Error with a message for users if the file cannot be imported. */
export function readFileSample(text: string, format: FileFormat, isWhole: boolean): FileSample {
  const withoutBom = text.replace(/^\uFEFF/, "");
  if (withoutBom.includes("\0"))
    throw new Error("This file is not in UTF-8. Save it as “CSV UTF-8” and choose it again.");
  const sample =
    format === "csv" ? readCsvSample(withoutBom, isWhole) : readNdjsonSample(withoutBom, isWhole);
  if (sample.names.length > MAX_COLUMNS) throw new Error(`This file has more than ${MAX_COLUMNS} columns.`);
  if (sample.rows.length === 0) throw new Error("This file has no rows.");
  return sample;
}

/** A cell, quoted or plain, and the separator or the end of line behind it: one for each separator. */
const CSV_CELLS = [
  /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(?:(,)|(\r\n|\n|\r|$))/y,
  /(?:"((?:[^"]|"")*)"|([^";\r\n]*))(?:(;)|(\r\n|\n|\r|$))/y,
  /(?:"((?:[^"]|"")*)"|([^"\t\r\n]*))(?:(\t)|(\r\n|\n|\r|$))/y,
];

function readCsvSample(text: string, isWhole: boolean): FileSample {
  // As the server: the separator that divides the first line into most columns.
  const [best] = CSV_CELLS.map((cell) => readCsvRecords(text, isWhole, cell)).toSorted(
    (one, other) => (other[0]?.length ?? 0) - (one[0]?.length ?? 0),
  );
  const [names, ...rows] = best ?? [];
  if (!names) throw new Error("This file is empty.");
  if (names.length === 1 && names[0]?.includes("|") === true)
    throw new Error("The columns of this file must be separated by commas, semicolons or tabs.");
  return { names, rows: rows.map((row) => names.map((_, index) => row[index] ?? "")) };
}

/** The first records without blank ones. Omits a last record that may be incomplete. */
function readCsvRecords(text: string, isWhole: boolean, cell: RegExp): string[][] {
  const records: string[][] = [];
  cell.lastIndex = 0;
  let record: string[] = [];
  while (cell.lastIndex < text.length && records.length <= SAMPLE_ROWS) {
    const match = cell.exec(text);
    // A stray quote: the server reports it with its line number.
    if (!match) break;
    const [, quoted, plain = "", separator, end] = match;
    const isCut = end === "" && !isWhole;
    if (isCut) break;
    record.push(quoted?.replaceAll('""', '"') ?? plain);
    if (separator !== undefined) continue;
    if (record.some((value) => value !== "")) records.push(record);
    record = [];
  }
  return records;
}

function readNdjsonSample(text: string, isWhole: boolean): FileSample {
  const lines = text.split("\n");
  if (!isWhole) lines.pop();
  const values = lines
    .filter((line) => line.trim() !== "")
    .slice(0, SAMPLE_ROWS)
    .flatMap(parseObject);
  if (values.length === 0) throw new Error("The lines of this file are not JSON objects.");
  const names = [...new Set(values.flatMap((value) => Object.keys(value)))];
  return { names, rows: values.map((value) => names.map((name) => toText(value[name]))) };
}

function parseObject(line: string): Record<string, unknown>[] {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? [value as Record<string, unknown>]
      : [];
  } catch {
    return [];
  }
}

function toText(value: unknown): string {
  if (value === undefined || value === null) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}
