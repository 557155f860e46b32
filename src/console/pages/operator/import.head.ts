/** The beginning of a file of jobs, read in the browser: what its columns are called, and what stands in the first rows. */

export type FileFormat = "csv" | "ndjson";

export interface FileHead {
  names: string[];
  /** The first rows, a text for each name; empty where nothing stands there. */
  rows: string[][];
}

/** What the head is read from. */
export const HEAD_BYTES = 65_536;
const ROWS = 5;
const MAX_NAMES = 200;

/** The format that a file's name speaks of; null: none of ours. */
export function formatOf(fileName: string): FileFormat | null {
  const extension = /\.([a-z]+)$/i.exec(fileName)?.[1]?.toLowerCase();
  if (extension === "csv") return "csv";
  return extension === "ndjson" || extension === "jsonl" ? "ndjson" : null;
}

/** `isWhole`: the text is the whole file. Throws an Error with a sentence for a person where this is no file of jobs. */
export function readHead(text: string, format: FileFormat, isWhole: boolean): FileHead {
  const sound = text.replace(/^\uFEFF/, "");
  if (sound.includes("\0"))
    throw new Error("This file is not in UTF-8. Save it as “CSV UTF-8” and choose it again.");
  const head = format === "csv" ? csvHead(sound, isWhole) : ndjsonHead(sound, isWhole);
  if (head.names.length > MAX_NAMES) throw new Error(`This file has more than ${MAX_NAMES} columns.`);
  if (head.rows.length === 0) throw new Error("This file has no rows.");
  return head;
}

function csvHead(text: string, isWhole: boolean): FileHead {
  const [names, ...rows] = csvRecords(text, isWhole);
  if (!names) throw new Error("This file is empty.");
  if (names.length === 1 && /[;\t|]/.test(names[0] ?? ""))
    throw new Error("The columns of this file are not set apart by commas. Save it as CSV with commas.");
  return { names, rows: rows.map((row) => names.map((_, at) => row[at] ?? "")) };
}

/** The first records, blank ones left out; one that the text's end may have cut is not among them. */
function csvRecords(text: string, isWhole: boolean): string[][] {
  const records: string[][] = [];
  const cell = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n|\n|\r|$)/y;
  let record: string[] = [];
  while (cell.lastIndex < text.length && records.length <= ROWS) {
    const found = cell.exec(text);
    // A stray quote: the server tells of it by its line, with all the others.
    if (!found) break;
    const [, quoted, plain = "", end] = found;
    const isCut = end === "" && !isWhole;
    if (isCut) break;
    record.push(quoted?.replaceAll('""', '"') ?? plain);
    if (end === ",") continue;
    if (record.some((one) => one !== "")) records.push(record);
    record = [];
  }
  return records;
}

function ndjsonHead(text: string, isWhole: boolean): FileHead {
  const lines = text.split("\n");
  if (!isWhole) lines.pop();
  const values = lines
    .filter((line) => line.trim() !== "")
    .slice(0, ROWS)
    .flatMap(objectOf);
  if (values.length === 0) throw new Error("The lines of this file are not JSON objects.");
  const names = [...new Set(values.flatMap((value) => Object.keys(value)))];
  return { names, rows: values.map((value) => names.map((name) => textOf(value[name]))) };
}

function objectOf(line: string): Record<string, unknown>[] {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? [value as Record<string, unknown>]
      : [];
  } catch {
    return [];
  }
}

function textOf(value: unknown): string {
  if (value === undefined || value === null) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}
