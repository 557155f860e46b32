/** The URL of the CSV export: all pages of the table, in its order. */
import type { JobsListVariables } from "../filters/jobs.variables.ts";

/** `spreadsheet` escapes formulas; `exact` is for importing the file again. */
export type ExportFormat = "spreadsheet" | "exact";

export function exportPath({ filter, orderBy }: JobsListVariables, format: ExportFormat): string {
  const params = new URLSearchParams({ orderBy: JSON.stringify(orderBy), values: format });
  if (filter !== null) params.set("filter", JSON.stringify(filter));
  return `console-api/jobs.csv?${params.toString()}`;
}
