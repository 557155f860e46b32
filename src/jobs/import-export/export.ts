/** Exports the jobs visible to a principal as CSV or NDJSON in a chosen order. Reads page by page in constant memory. */
import { csvLine } from "../../core/records/csv.ts";
import type { Queryable } from "../../core/postgres/database.ts";
import type { Principal } from "../../core/principal.ts";
import { escapeApostrophes } from "../../core/records/formula-escaping.ts";
import type { JobFilterTree } from "../list/filter.sql.ts";
import { listJobs } from "../list/list.sql.ts";
import { fileColumns, isTextColumn, toFileRow } from "./file-codec.ts";
import type { FileFormat } from "./import-rows.ts";
import { positionOf, type JobOrder, type JobPosition } from "../list/cursor.ts";
import type { JobRow } from "../row.sql.ts";

export interface JobExport {
  filter: JobFilterTree;
  order: JobOrder;
  format: FileFormat;
}

export interface ExportChunk {
  text: string;
  jobCount: number;
}

const PAGE_SIZE = 1_000;

/**
 * Yields the file in chunks. A job whose position in the order does not change during the export appears exactly once, in its
 * old or its new state. One whose position changes can be missing or appear twice.
 */
export async function* exportJobs(
  database: Queryable,
  principal: Principal,
  { filter, order, format }: JobExport,
): AsyncGenerator<ExportChunk> {
  const { header, line } = formatters[format];
  let text = header;
  let position: JobPosition | null = null;
  for (;;) {
    const page = { direction: "forward", limit: PAGE_SIZE, position } as const;
    const include = { items: true, total: false };
    const { items, hasNext } = await listJobs(database, principal, { filter, order, page, include });
    text += items.map((job) => `${line(job)}\n`).join("");
    if (text !== "") yield { text, jobCount: items.length };
    const last = items.at(-1);
    if (last === undefined || !hasNext) return;
    text = "";
    position = positionOf(order, last);
  }
}

const formatters: Record<FileFormat, { header: string; line: (job: JobRow) => string }> = {
  csv: { header: `${csvLine(fileColumns)}\n`, line: formatCsvLine },
  ndjson: { header: "", line: (job) => JSON.stringify(toFileRow(job)) },
};

function formatCsvLine(job: JobRow): string {
  const row = toFileRow(job);
  const cells = fileColumns.map((column) => {
    const value = row[column];
    if (value === null) return null;
    return isTextColumn(column) ? escapeApostrophes(String(value)) : String(value);
  });
  return csvLine(cells);
}
