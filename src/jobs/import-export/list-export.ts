/** Exporting the jobs that somebody sees, in an order that they choose, as CSV: page by page, however many there are. */
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
  /**
   * `exact`: values as they are, so that the file can be imported again. `spreadsheet`: no text is taken for a formula, and
   * the file says that it is UTF-8.
   */
  format: "exact" | "spreadsheet";
}

const PAGE_SIZE = 1_000;
const BYTE_ORDER_MARK = "\uFEFF";

/**
 * The file in parts. Jobs that nobody changes meanwhile stand in it once each; one that moves in the order meanwhile may
 * be missed, or stand there twice, as it was and as it is.
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
