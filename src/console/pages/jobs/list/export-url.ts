/** Where the file of what the table shows is made: all its pages, in its order. */
import type { JobsListVariables } from "../filters/jobs.variables.ts";

/** `spreadsheet` keeps a cell from being read as a formula; `exact` can be imported again as it is. */
export type ExportFormat = "spreadsheet" | "exact";

export function exportPath({ filter, orderBy }: JobsListVariables, format: ExportFormat): string {
  const params = new URLSearchParams({ orderBy: JSON.stringify(orderBy), values: format });
  if (filter !== null) params.set("filter", JSON.stringify(filter));
  return `console-api/jobs.csv?${params.toString()}`;
}
