/** What the page shows: filters and the open job. It is a part of the URL, so that links and the back button work. */
import { useMemo, useSyncExternalStore } from "react";
import type { JobFilter } from "./queries.ts";

export interface View {
  search: string;
  isLate: boolean;
  /** Status code, or null for all. */
  status: string | null;
  /** ID of the open job, or null for none. */
  jobId: string | null;
}

const CHANGED = "view-changed";

export function useView(): View {
  const query = useSyncExternalStore(subscribe, () => location.search);
  return useMemo(() => parse(query), [query]);
}

/** Returns the URL of `view`. */
export function viewUrl({ search, isLate, status, jobId }: View): string {
  const query = new URLSearchParams();
  if (search) query.set("q", search);
  if (isLate) query.set("late", "true");
  if (status) query.set("status", status);
  if (jobId) query.set("job", jobId);
  return query.size > 0 ? `?${query}` : location.pathname;
}

export function openView(view: View): void {
  history.pushState(null, "", viewUrl(view));
  dispatchEvent(new Event(CHANGED));
}

/** Returns the filter for the list; with `allStatuses`, the one for the counts of the statuses. */
export function filterOf({ search, isLate, status }: View, { allStatuses = false } = {}): JobFilter {
  return {
    ...(search && { search }),
    ...(isLate && { isLate }),
    ...(status && !allStatuses && { normalizedStatus: { eq: status } }),
  };
}

function parse(query: string): View {
  const parameters = new URLSearchParams(query);
  return {
    search: parameters.get("q") ?? "",
    isLate: parameters.get("late") === "true",
    status: parameters.get("status"),
    jobId: parameters.get("job"),
  };
}

function subscribe(listener: () => void): () => void {
  addEventListener("popstate", listener);
  addEventListener(CHANGED, listener);
  return () => {
    removeEventListener("popstate", listener);
    removeEventListener(CHANGED, listener);
  };
}
