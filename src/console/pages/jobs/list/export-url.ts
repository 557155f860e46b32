/** The URL of the CSV export: all pages of the table, in its order. */
import type { Mode } from "../../../app/session/mode.ts";
import type { JobsListVariables } from "../filters/jobs.variables.ts";

/** `spreadsheet` escapes formulas; `exact` is for importing the file again. */
export type ExportFormat = "spreadsheet" | "exact";

export function exportPath(
  { filter, orderBy }: JobsListVariables,
  { format, mode }: { format: ExportFormat; mode: Mode },
): string {
  const params = new URLSearchParams({ orderBy: JSON.stringify(orderBy), values: format });
  if (mode !== "live") params.set("mode", mode);
  if (filter !== null) params.set("filter", JSON.stringify(filter));
  return `console-api/jobs.csv?${params.toString()}`;
}
