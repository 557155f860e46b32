/** The dashboard's numbers, and the changes that come while one looks on: after a few of them the numbers are read anew. */
import { useQuery, useSubscription } from "@apollo/client/react";
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { useWhenFollowing } from "../../app/live.ts";
import { useReadAnew } from "../../app/use-read-anew.ts";
import {
  DashboardChangeDocument,
  DashboardDocument,
  type DashboardQuery,
} from "../../generated/dashboard.ts";
import { todayUtc } from "../jobs/job.category.ts";
import { dashboardVariables } from "./dashboard.numbers.ts";
import { withChange, type Change } from "./feed.ts";

export interface Dashboard {
  today: string;
  data: Partial<DashboardQuery> | undefined;
  /** About all of it, or about the panels that have nothing. */
  error: unknown;
  changes: readonly Change[];
  isPaused: boolean;
  togglePause: () => void;
  refetch: () => void;
}

export function useDashboard(): Dashboard {
  const today = todayUtc();
  const variables = useMemo(() => dashboardVariables(today), [today]);
  const asked = useQuery(DashboardDocument, { variables, errorPolicy: "all" });
  const [isPaused, setPaused] = useState(false);
  const [changes, setChanges] = useState<readonly Change[]>([]);
  const read = useReadAnew(asked);
  const readSoon = useSoon(read);

  useSubscription(DashboardChangeDocument, {
    skip: isPaused,
    ignoreResults: true,
    onData({ data: { data: news } }) {
      if (!news) return;
      setChanges((former) => withChange(former, news.jobChanged));
      readSoon();
    },
  });
  useWhenFollowing(read);

  const togglePause = (): void => {
    if (isPaused) read();
    setPaused(!isPaused);
  };
  return { today, data: asked.data, error: asked.error, changes, isPaused, togglePause, refetch: read };
}

const SOON_MS = 2_000;

/** However often it is asked for, it is done once in a while: also in a stream of changes that never pauses. */
function useSoon(act: () => void): () => void {
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  return useCallback(() => {
    timer.current ??= setTimeout(() => {
      timer.current = undefined;
      act();
    }, SOON_MS);
  }, [act]);
}
