/** Removes statuses from the link that the reference data does not have. */
import { useEffect } from "react";
import { tellLost } from "../../app/repaired-link.ts";
import type { JobsSearch } from "./jobs.search.ts";
import type { Choices } from "./use-choices.ts";

/** Returns false while the search must not be sent: the API refuses an unknown status. */
export function useKnownStatuses(
  search: JobsSearch,
  choices: Choices,
  onRepair: (difference: Partial<JobsSearch>) => void,
): boolean {
  const asked = search.status ?? [];
  const isKnown = (code: string): boolean => choices.names.statuses.has(code);
  // Without reference data the API decides.
  const unknown = choices.statuses.length === 0 ? [] : asked.filter((code) => !isKnown(code));
  useEffect(() => {
    if (unknown.length === 0) return;
    tellLost(unknown.map((value) => ({ name: "status", value })));
    onRepair({ status: asked.filter(isKnown) });
  });
  return asked.length === 0 || (!choices.isLoading && unknown.length === 0);
}
