/** Exporting the jobs that somebody sees, in an order that they choose, as CSV: page by page, however many there are. */
import { csvLine } from "../platform/csv.ts";
import type { Queryable } from "../platform/database.ts";
import type { Viewer } from "../platform/principal.ts";
import { toSpreadsheetText } from "../platform/spreadsheet-text.ts";
import type { JobCondition } from "./job.condition.ts";
import { pageOfJobs } from "./job.connection.ts";
import {
  fileColumns,
  isTextColumn,
  textOfValue,
  toFileRow,
  type FileColumn,
  type FileValue,
} from "./job.file.ts";
import type { JobPosition } from "./job.filter.ts";
import { positionOf, type JobOrder } from "./job.order.ts";
import type { AssignedJobRow } from "./job.row.ts";

export interface ViewExport {
  condition: JobCondition;
  order: JobOrder;
  /**
   * `exact`: values as they are, so that the file can be imported again. `spreadsheet`: no text is taken for a formula, and
   * the file says that it is UTF-8.
   */
  values: "exact" | "spreadsheet";
}

const PAGE = 1_000;
const BYTE_ORDER_MARK = "\uFEFF";

/**
 * The file in parts. Jobs that nobody changes meanwhile stand in it once each; one that moves in the order meanwhile may
 * be missed, or stand there twice, as it was and as it is.
 */
export async function* exportVisibleJobs(
  database: Queryable,
  viewer: Viewer,
  { condition, order, values }: ViewExport,
): AsyncGenerator<string> {
  const isSpreadsheet = values === "spreadsheet";
  let part = `${isSpreadsheet ? BYTE_ORDER_MARK : ""}${csvLine(fileColumns)}\n`;
  let position: JobPosition | null = null;
  for (;;) {
    const page = { direction: "forward", limit: PAGE, position } as const;
    const include = { items: true, organizations: false, total: false };
    const { items, hasNext } = await pageOfJobs(database, viewer, { condition, order, page, include });
    const lines = items.map((job) => `${lineOf(job, isSpreadsheet)}\n`);
    yield part + lines.join("");
    const last = items.at(-1);
    if (last === undefined || !hasNext) return;
    part = "";
    position = positionOf(order, last);
  }
}

function lineOf(job: AssignedJobRow, isSpreadsheet: boolean): string {
  const row = toFileRow(job);
  return csvLine(fileColumns.map((column) => cellOf(column, row[column], isSpreadsheet)));
}

function cellOf(column: FileColumn, value: FileValue, isSpreadsheet: boolean): string | null {
  const text = textOfValue(value);
  return text !== null && isSpreadsheet && isTextColumn(column) ? toSpreadsheetText(text) : text;
}
