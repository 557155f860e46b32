/** Keeps the shown page of jobs current: changed rows in place, and other changes of the page on request. */
import { useApolloClient, useSubscription } from "@apollo/client/react";
import { useDocumentVisibility } from "@mantine/hooks";
import { useCallback, useEffect, useRef, useState } from "react";
import { formatCount } from "../../../app/formats.ts";
import { useOnSubscribed } from "../../../app/api/connection-status.ts";
import { useThrottled } from "../../../app/interaction/use-throttled.ts";
import { JobRowFragmentDoc } from "../../../generated/job-row.ts";
import {
  JobsListChangeDocument,
  JobsPageDocument,
  type JobsPageQuery,
  type JobsPageQueryVariables,
} from "../../../generated/jobs.ts";

const THROTTLE_MS = 2_000;

type JobsPage = NonNullable<JobsPageQuery["jobs"]>;

export interface LiveList {
  /** How the list differs from the shown page, such as "3 new"; null if it does not. */
  news: string | null;
  show: () => void;
}

interface LiveListOptions {
  /** Null before the list may be read. */
  variables: JobsPageQueryVariables | null;
  shown: JobsPage | null;
  isPaused: boolean;
}

export function useLiveList({ variables, shown, isPaused }: LiveListOptions): LiveList {
  const client = useApolloClient();
  const [read, setRead] = useState<{ variables: JobsPageQueryVariables; data: JobsPageQuery } | null>(null);
  const isHidden = useDocumentVisibility() === "hidden";

  const isIdle = isPaused || isHidden;
  const latestIsIdle = useRef(isIdle);
  useEffect(() => {
    latestIsIdle.current = isIdle;
  });

  const refresh = useCallback(async (): Promise<void> => {
    if (!variables || latestIsIdle.current) return;
    // Not into the cache: the shown rows would move under the pointer. After an error the next change reads again.
    const query = { query: JobsPageDocument, variables, fetchPolicy: "no-cache" } as const;
    const { data } = await client.query(query).catch(() => ({ data: undefined }));
    if (!data?.jobs) return;
    const page = client.readQuery({ query: JobsPageDocument, variables })?.jobs;
    for (const job of data.jobs.nodes.filter(({ id }) => page?.nodes.some((row) => row.id === id)))
      client.writeFragment({ fragment: JobRowFragmentDoc, fragmentName: "JobRow", data: job });
    setRead({ variables, data });
  }, [client, variables]);
  const refreshSoon = useThrottled(() => void refresh(), THROTTLE_MS);
  useSubscription(JobsListChangeDocument, {
    skip: isIdle,
    ignoreResults: true,
    onData: refreshSoon,
  });
  // Also reads what changed while the list was paused.
  useOnSubscribed(refreshSoon);

  const current = read?.variables === variables ? read : null;
  return {
    news: current?.data.jobs && shown ? describeNews(shown, current.data.jobs) : null,
    show() {
      if (current) client.writeQuery({ query: JobsPageDocument, ...current });
    },
  };
}

function describeNews(shown: JobsPage, read: JobsPage): string | null {
  const before = shown.nodes.map(({ id }) => id);
  const now = read.nodes.map(({ id }) => id);
  const newCount = now.filter((id) => !before.includes(id)).length;
  if (newCount > 0) return formatCount(newCount, "new job");
  return before.join() === now.join() ? null : "The list has changed";
}
