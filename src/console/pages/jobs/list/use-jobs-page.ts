/** The page of jobs that the address asks for; while the next is on its way the former one stays. */
import { skipToken, useQuery } from "@apollo/client/react";
import { useMemo } from "react";
import { JobsPageDocument, type JobsPageQuery } from "../../../generated/jobs.ts";
import { jobsListVariables, pageVariables, type JobsListVariables } from "../filters/jobs.variables.ts";
import type { JobsSearch } from "../filters/jobs.search.ts";

export interface JobsPageState {
  listVariables: JobsListVariables;
  page: NonNullable<JobsPageQuery["jobs"]> | null;
  /** Shows what was asked before. */
  isStale: boolean;
  error: unknown;
  refetch: () => void;
}

/** `isReady`: the search is checked and may be sent. */
export function useJobsPage(search: JobsSearch, isReady: boolean): JobsPageState {
  // Filters by how long ago hold from when they were chosen.
  const listVariables = useMemo(() => jobsListVariables(search), [search]);
  const variables = useMemo(() => pageVariables(search, listVariables), [search, listVariables]);
  const { data, previousData, error, loading, refetch } = useQuery(
    JobsPageDocument,
    isReady ? { variables } : skipToken,
  );
  const result = data ?? (loading ? previousData : undefined);
  return {
    listVariables,
    page: result?.jobs ?? null,
    isStale: data === undefined && loading,
    error: data?.jobs ? undefined : error,
    refetch: () => void refetch(),
  };
}
