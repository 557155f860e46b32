/** Removes unknown statuses from the URL. */
import { useEffect } from "react";
import { notifyRemovedFilters } from "../../../app/link-repair.ts";
import type { JobsSearch } from "./jobs.search.ts";
import type { ReferenceData } from "../use-reference-data.ts";

/** Returns false while the search must not be sent, because the API rejects unknown statuses. */
export function useStatusRepair(
  search: JobsSearch,
  referenceData: ReferenceData,
  onRepair: (difference: Partial<JobsSearch>) => void,
): boolean {
  const requested = search.status ?? [];
  const isKnown = (code: string): boolean => referenceData.labels.statuses.has(code);
  // If the reference data failed to load, the API validates the statuses.
  const unknown = referenceData.statuses.length === 0 ? [] : requested.filter((code) => !isKnown(code));
  useEffect(() => {
    if (unknown.length === 0) return;
    notifyRemovedFilters(unknown.map((value) => ({ name: "status", value })));
    onRepair({ status: requested.filter(isKnown) });
  });
  return requested.length === 0 || (!referenceData.isLoading && unknown.length === 0);
}
