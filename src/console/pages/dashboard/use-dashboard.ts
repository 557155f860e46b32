/** Loads the dashboard, collects live changes, and refetches the numbers at most every two seconds. */
import { useQuery, useSubscription } from "@apollo/client/react";
import { useMemo, useState } from "react";
import { useOnSubscribed } from "../../app/api/connection-status.ts";
import { useRefetch } from "../../app/api/use-refetch.ts";
import { useThrottled } from "../../app/interaction/use-throttled.ts";
import {
  DashboardChangeDocument,
  DashboardDocument,
  type DashboardQuery,
} from "../../generated/dashboard.ts";
import { useToday, useZone } from "../../app/session/zone.ts";
import { dashboardVariables } from "./dashboard.metrics.ts";
import { prependChange, type FeedChange } from "./feed.ts";

const THROTTLE_MS = 2_000;

export interface Dashboard {
  today: string;
  data: Partial<DashboardQuery> | undefined;
  /** About the whole query, or about the panels without data. */
  error: unknown;
  changes: readonly FeedChange[];
  isPaused: boolean;
  togglePause: () => void;
  refetch: () => void;
}

export function useDashboard(): Dashboard {
  const [today, zone] = [useToday(), useZone()];
  const variables = useMemo(() => dashboardVariables(today, zone), [today, zone]);
  const query = useQuery(DashboardDocument, { variables, errorPolicy: "all" });
  const [isPaused, setPaused] = useState(false);
  const [changes, setChanges] = useState<readonly FeedChange[]>([]);
  const refresh = useRefetch(query);
  const refetchThrottled = useThrottled(refresh, THROTTLE_MS);

  useSubscription(DashboardChangeDocument, {
    skip: isPaused,
    ignoreResults: true,
    onData({ data: { data: update } }) {
      if (!update) return;
      setChanges((former) => prependChange(former, update.jobChanged));
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
