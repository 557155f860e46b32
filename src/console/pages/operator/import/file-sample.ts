/** The beginning of a file of jobs, read in the browser: what its columns are called, and what stands in the first rows. */

export type FileFormat = "csv" | "ndjson";

export interface FileSample {
  names: string[];
  /** The first rows, a text for each name; empty where nothing stands there. */
  rows: string[][];
}

/** What the head is read from. */
export const SAMPLE_BYTES = 65_536;
const SAMPLE_ROWS = 5;
const MAX_COLUMNS = 200;

/** The format that a file's name speaks of; null: none of ours. */
export function detectFormat(fileName: string): FileFormat | null {
  const extension = /\.([a-z]+)$/i.exec(fileName)?.[1]?.toLowerCase();
  if (extension === "csv") return "csv";
  return extension === "ndjson" || extension === "jsonl" ? "ndjson" : null;
}

/** `isWhole`: the text is the whole file. Throws an Error with a sentence for a person where this is no file of jobs. */
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

function readCsvSample(text: string, isWhole: boolean): FileSample {
  const [names, ...rows] = readCsvRecords(text, isWhole);
  if (!names) throw new Error("This file is empty.");
  if (names.length === 1 && /[;\t|]/.test(names[0] ?? ""))
    throw new Error("The columns of this file are not set apart by commas. Save it as CSV with commas.");
  return { names, rows: rows.map((row) => names.map((_, at) => row[at] ?? "")) };
}

/** The first records, blank ones left out; one that the text's end may have cut is not among them. */
function readCsvRecords(text: string, isWhole: boolean): string[][] {
  const records: string[][] = [];
  const cell = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n|\n|\r|$)/y;
  let record: string[] = [];
  while (cell.lastIndex < text.length && records.length <= SAMPLE_ROWS) {
    const match = cell.exec(text);
    // A stray quote: the server tells of it by its line, with all the others.
    if (!match) break;
    const [, quoted, plain = "", end] = match;
    const isCut = end === "" && !isWhole;
    if (isCut) break;
    record.push(quoted?.replaceAll('""', '"') ?? plain);
    if (end === ",") continue;
    if (record.some((one) => one !== "")) records.push(record);
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
