/** The dashboard's numbers, and the changes that come while one looks on: after a few of them the numbers are read anew. */
import { useQuery, useSubscription } from "@apollo/client/react";
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { useOnSubscribed } from "../../app/api/connection-status.ts";
import { useRefetch } from "../../app/api/use-refetch.ts";
import {
  DashboardChangeDocument,
  DashboardDocument,
  type DashboardQuery,
} from "../../generated/dashboard.ts";
import { todayUtc } from "../jobs/job.category.ts";
import { dashboardVariables } from "./dashboard.metrics.ts";
import { prependChange, type FeedChange } from "./feed.ts";

export interface Dashboard {
  today: string;
  data: Partial<DashboardQuery> | undefined;
  /** About all of it, or about the panels that have nothing. */
  error: unknown;
  changes: readonly FeedChange[];
  isPaused: boolean;
  togglePause: () => void;
  refetch: () => void;
}

export function useDashboard(): Dashboard {
  const today = todayUtc();
  const variables = useMemo(() => dashboardVariables(today), [today]);
  const query = useQuery(DashboardDocument, { variables, errorPolicy: "all" });
  const [isPaused, setPaused] = useState(false);
  const [changes, setChanges] = useState<readonly FeedChange[]>([]);
  const refresh = useRefetch(query);
  const refetchThrottled = useThrottled(refresh);

  useSubscription(DashboardChangeDocument, {
    skip: isPaused,
    ignoreResults: true,
    onData({ data: { data: news } }) {
      if (!news) return;
      setChanges((former) => prependChange(former, news.jobChanged));
      refetchThrottled();
    },
  });
  useOnSubscribed(refresh);

  const togglePause = (): void => {
    if (isPaused) refresh();
    setPaused(!isPaused);
  };
  return { today, data: query.data, error: query.error, changes, isPaused, togglePause, refetch: refresh };
}

const THROTTLE_MS = 2_000;

/** However often it is asked for, it is done once in a while: also in a stream of changes that never pauses. */
function useThrottled(callback: () => void): () => void {
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  return useCallback(() => {
    timer.current ??= setTimeout(() => {
      timer.current = undefined;
      callback();
    }, THROTTLE_MS);
  }, [callback]);
}
