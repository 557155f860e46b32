/** Exports the jobs visible to a principal as CSV in a chosen order. Reads page by page in constant memory. */
import { csvLine } from "../../platform/records/csv.ts";
import type { Queryable } from "../../platform/postgres/database.ts";
import type { Principal } from "../../platform/principal.ts";
import { escapeFormulas } from "../../platform/records/formula-escaping.ts";
import type { JobFilterTree } from "../list/filter.ts";
import { listJobs } from "../list/list.sql.ts";
import {
  fileColumns,
  isTextColumn,
  formatCell,
  toFileRow,
  type FileColumn,
  type FileValue,
} from "./file-codec.ts";
import type { JobPosition } from "../list/list-parameters.ts";
import { positionOf, type JobOrder } from "../list/order.ts";
import type { JobRowWithOwners } from "../job.row.ts";

export interface ListExport {
  filter: JobFilterTree;
  order: JobOrder;
  /** `exact` writes values unchanged, for a later import. `spreadsheet` escapes formulas and adds a byte order mark. */
  format: "exact" | "spreadsheet";
}

const PAGE_SIZE = 1_000;
const BYTE_ORDER_MARK = "\uFEFF";

/**
 * Yields the file in chunks. A job that does not change during the export appears exactly once. One whose position in the
 * order changes can be missing or appear twice.
 */
export async function* exportJobList(
  database: Queryable,
  principal: Principal,
  { filter, order, format }: ListExport,
): AsyncGenerator<string> {
  const isSpreadsheet = format === "spreadsheet";
  let chunk = `${isSpreadsheet ? BYTE_ORDER_MARK : ""}${csvLine(fileColumns)}\n`;
  let position: JobPosition | null = null;
  for (;;) {
    const page = { direction: "forward", limit: PAGE_SIZE, position } as const;
    const include = { items: true, organizations: false, total: false };
    const { items, hasNext } = await listJobs(database, principal, { filter, order, page, include });
    const lines = items.map((job) => `${formatLine(job, isSpreadsheet)}\n`);
    yield chunk + lines.join("");
    const last = items.at(-1);
    if (last === undefined || !hasNext) return;
    chunk = "";
    position = positionOf(order, last);
  }
}

function formatLine(job: JobRowWithOwners, isSpreadsheet: boolean): string {
  const row = toFileRow(job);
  return csvLine(fileColumns.map((column) => formatColumn(column, row[column], isSpreadsheet)));
}

function formatColumn(column: FileColumn, value: FileValue, isSpreadsheet: boolean): string | null {
  const text = formatCell(value);
  return text !== null && isSpreadsheet && isTextColumn(column) ? escapeFormulas(text) : text;
}
