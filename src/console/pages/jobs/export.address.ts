/** Where the file of what the table shows is made: all its pages, in its order. */
import type { JobsAsked } from "./jobs.filter.ts";

/** `spreadsheet` keeps a cell from being read as a formula; `exact` can be imported again as it is. */
export type ExportValues = "spreadsheet" | "exact";

export function exportPath({ filter, orderBy }: JobsAsked, values: ExportValues): string {
  const question = new URLSearchParams({ orderBy: JSON.stringify(orderBy), values });
  if (filter !== null) question.set("filter", JSON.stringify(filter));
  return `console-data/jobs.csv?${question.toString()}`;
}
