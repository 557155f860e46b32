/** Loads the page of jobs that the URL asks for. The previous page stays visible while the next one loads. */
import { skipToken, useQuery } from "@apollo/client/react";
import { useMemo } from "react";
import { JobsPageDocument, type JobsPageQuery } from "../../../generated/jobs.ts";
import { jobsListVariables, pageVariables, type JobsListVariables } from "../filters/jobs.variables.ts";
import { useToday, useZone } from "../../../app/session/zone.ts";
import type { JobsSearch } from "../filters/jobs.search.ts";
import { useLiveList, type LiveList } from "./use-live-list.ts";

export interface JobsPageState {
  listVariables: JobsListVariables;
  page: NonNullable<JobsPageQuery["jobs"]> | null;
  /** True while `page` is still the previous result. */
  isStale: boolean;
  error: unknown;
  refetch: () => void;
  live: LiveList;
}

/** `isReady`: the search is valid and may be sent. `isPaused`: without live changes. */
export function useJobsPage(
  search: JobsSearch,
  { isReady, isPaused }: { isReady: boolean; isPaused: boolean },
): JobsPageState {
  const [today, zone] = [useToday(), useZone()];
  // Memoised, so that relative periods count from when the filter was chosen.
  const listVariables = useMemo(() => jobsListVariables(search, { today, zone }), [search, today, zone]);
  const variables = useMemo(() => pageVariables(search, listVariables), [search, listVariables]);
  const { data, previousData, error, loading, refetch } = useQuery(
    JobsPageDocument,
    isReady ? { variables } : skipToken,
  );
  const result = data ?? (loading ? previousData : undefined);
  const page = result?.jobs ?? null;
  const live = useLiveList({ variables: isReady ? variables : null, shown: page, isPaused });
  return {
    listVariables,
    page,
    isStale: data === undefined && loading,
    error: data?.jobs ? undefined : error,
    refetch: () => void refetch(),
    live,
  };
}
