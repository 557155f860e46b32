/** Loads the newest test jobs and the watched one, follows their changes live, and keeps the runs of this tab. */
import { useQuery, useSubscription } from "@apollo/client/react";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { useSessionStorage } from "@mantine/hooks";
import { useState } from "react";
import { useOnSubscribed } from "../../app/api/connection-status.ts";
import { useRefetch } from "../../app/api/use-refetch.ts";
import { useThrottled } from "../../app/interaction/use-throttled.ts";
import { JobChangedDocument } from "../../generated/job.ts";
import type { JobRowFragment } from "../../generated/job-row.ts";
import { SimulatorPageDocument } from "../../generated/simulator.ts";
import type { StartedRun } from "./run.progress.ts";

const route = getRouteApi("/console/simulator");
const RECENT_COUNT = 8;
const THROTTLE_MS = 1_000;

export interface Simulator {
  /** The newest first. Null while they load or if loading failed. */
  jobs: readonly JobRowFragment[] | null;
  jobCount: number;
  /** The job to run and watch. Null without jobs. */
  job: JobRowFragment | null;
  /** The Marking Number in the URL, if there is no such job. */
  unknownJob: string | null;
  /** The last run of each job that was started in this tab, by Marking Number. */
  runs: Readonly<Record<string, StartedRun>>;
  error: unknown;
  isPaused: boolean;
  togglePause: () => void;
  select: (markingNumber: string) => void;
  addRun: (run: StartedRun) => void;
  removeRun: (markingNumber: string) => void;
  /** Call it after the test data was deleted. */
  reset: () => void;
  reload: () => void;
}

export function useSimulator(): Simulator {
  const { job: selected } = route.useSearch();
  const navigate = useNavigate();
  const query = useQuery(SimulatorPageDocument, {
    variables: { first: RECENT_COUNT, markingNumber: selected ?? "", hasSelection: selected !== undefined },
  });
  const { data, previousData, error } = query;
  const [runs, setRuns, removeRuns] = useSessionStorage<Simulator["runs"]>({
    key: "waymark-test-runs",
    defaultValue: {},
  });
  const reload = useRefetch(query);
  const { isPaused, togglePause } = useLiveJobs(reload);
  const list = (data ?? previousData)?.jobs;
  const jobs = list?.nodes ?? null;
  const job = selected === undefined ? jobs?.[0] : (findJob(jobs, selected) ?? data?.job);
  const isUnknown = data !== undefined && job === null;
  const select = (markingNumber: string | undefined): void =>
    void navigate({ to: "/simulator", search: { job: markingNumber }, replace: true, resetScroll: false });
  return {
    jobs,
    jobCount: list?.totalCount ?? 0,
    job: job ?? null,
    unknownJob: isUnknown ? (selected ?? null) : null,
    runs,
    error,
    isPaused,
    togglePause,
    select(markingNumber) {
      select(markingNumber);
      reload();
    },
    addRun: (run) => setRuns((former) => ({ ...former, [run.markingNumber]: run })),
    removeRun: (markingNumber) => setRuns(({ [markingNumber]: _removed, ...others }) => others),
    reset() {
      removeRuns();
      select(undefined);
      reload();
    },
    reload,
  };
}

function findJob(jobs: readonly JobRowFragment[] | null, selected: string): JobRowFragment | undefined {
  return jobs?.find(({ markingNumber }) => markingNumber === selected);
}

/** Apollo's cache applies each change at once. The refetch adds new jobs and corrects the data of an older response. */
function useLiveJobs(reload: () => void): Pick<Simulator, "isPaused" | "togglePause"> {
  const [isPaused, setPaused] = useState(false);
  const reloadThrottled = useThrottled(reload, THROTTLE_MS);
  useSubscription(JobChangedDocument, { skip: isPaused, ignoreResults: true, onData: reloadThrottled });
  useOnSubscribed(reload);
  const togglePause = (): void => {
    if (isPaused) reload();
    setPaused(!isPaused);
  };
  return { isPaused, togglePause };
}
