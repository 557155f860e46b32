/** Removes statuses from the link that the reference data does not have. */
import { useEffect } from "react";
import { notifyRemovedFilters } from "../../../app/link-repair.ts";
import type { JobsSearch } from "./jobs.search.ts";
import type { ReferenceData } from "../use-reference-data.ts";

/** Returns false while the search must not be sent: the API refuses an unknown status. */
export function useStatusRepair(
  search: JobsSearch,
  referenceData: ReferenceData,
  onRepair: (difference: Partial<JobsSearch>) => void,
): boolean {
  const requested = search.status ?? [];
  const isKnown = (code: string): boolean => referenceData.labels.statuses.has(code);
  // Without reference data the API decides.
  const unknown = referenceData.statuses.length === 0 ? [] : requested.filter((code) => !isKnown(code));
  useEffect(() => {
    if (unknown.length === 0) return;
    notifyRemovedFilters(unknown.map((value) => ({ name: "status", value })));
    onRepair({ status: requested.filter(isKnown) });
  });
  return requested.length === 0 || (!referenceData.isLoading && unknown.length === 0);
}
