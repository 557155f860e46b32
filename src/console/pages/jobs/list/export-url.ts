/** The URL of the exact CSV export: all pages of the table, in its order. */
import type { Mode } from "../../../app/session/mode.ts";
import type { JobsListVariables } from "../filters/jobs.variables.ts";

export function exportPath({ filter, orderBy }: JobsListVariables, mode: Mode): string {
  const params = new URLSearchParams({ orderBy: JSON.stringify(orderBy) });
  if (mode !== "live") params.set("mode", mode);
  if (filter !== null) params.set("filter", JSON.stringify(filter));
  return `console-api/jobs.csv?${params.toString()}`;
}
