/** The request and response of `POST /console-api/imports`. */

export type FileFormat = "csv" | "ndjson" | "xlsx";

export interface ImportCounts {
  created: number;
  updated: number;
  unchanged: number;
  failed: number;
}

export interface ImportFailure {
  line: number;
  marking_number: string | null;
  problems: { field: string | null; message: string }[];
  /** The texts of the row in the file; absent in NDJSON. */
  cells?: string[];
}

export interface ImportReport {
  type: "report";
  dry_run: boolean;
  counts: ImportCounts;
  failures: ImportFailure[];
  failures_omitted: number;
  /** Why the import stopped early; null if it finished. */
  stopped: { code: string; message: string } | null;
}

interface ImportProgressLine {
  type: "progress";
  bytes: number;
  counts: ImportCounts;
}

export type ImportLine = ImportProgressLine | ImportReport;

/** Of a CSV file that is not UTF-8. */
export type FileEncoding = "windows-1252" | "utf-16le";

export type DateOrder = "dmy" | "mdy";

export interface ImportPlan {
  fileName: string;
  format: FileFormat;
  /** Null: UTF-8. */
  encoding: FileEncoding | null;
  /** Separates the cells of a CSV file. */
  delimiter: string;
  names: readonly string[];
  /** The target column for each name, or null to skip it. */
  mapping: readonly (string | null)[];
  /** How the file writes dates that are not YYYY-MM-DD; null: it has none. */
  dates: DateOrder | null;
  /** `org_…` */
  agent: string | null;
  contractor: string | null;
}

export const contentTypes: Record<FileFormat, string> = {
  csv: "text/csv",
  ndjson: "application/x-ndjson",
  xlsx: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
};

/** The format by file extension; null if it is not supported. */
export function detectFormat(fileName: string): FileFormat | null {
  const extension = /\.([a-z]+)$/i.exec(fileName)?.[1]?.toLowerCase();
  if (extension === "csv" || extension === "xlsx") return extension;
  return extension === "ndjson" || extension === "jsonl" ? "ndjson" : null;
}

/** The server's limits. */
export const MAX_FILE_BYTES = 268_435_456;
export const MAX_XLSX_BYTES = 16_777_216;

export function importPath(
  { fileName, encoding, names, mapping, dates, agent, contractor }: ImportPlan,
  isDryRun: boolean,
): string {
  const columns = Object.fromEntries(
    names.flatMap((name, index) => {
      const target = mapping[index] ?? null;
      return target === null ? [] : [[name, target]];
    }),
  );
  const query = new URLSearchParams({
    dry_run: String(isDryRun),
    columns: JSON.stringify(columns),
    file_name: fileName.slice(-255),
    ...(encoding !== null && { encoding }),
    ...(dates !== null && { dates }),
    ...(agent !== null && { agent }),
    ...(contractor !== null && { contractor }),
  });
  return `console-api/imports?${query.toString()}`;
}

/** Parses an NDJSON response while it arrives: each call gets all text so far and returns only new lines. */
export class NdjsonReader {
  #offset = 0;

  push(text: string): ImportLine[] {
    const end = text.lastIndexOf("\n") + 1;
    if (end <= this.#offset) return [];
    const lines = text.slice(this.#offset, end).split("\n");
    this.#offset = end;
    return lines.filter((line) => line !== "").map((line) => JSON.parse(line) as ImportLine);
  }
}

export function totalRows({ created, updated, unchanged, failed }: ImportCounts): number {
  return created + updated + unchanged + failed;
}
