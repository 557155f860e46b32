/** Follows one job: each change comes into the cache, and with it onto the page. */
import { useSubscription } from "@apollo/client/react";
import { useState } from "react";
import { useWhenLiveAgain } from "../../app/live.ts";
import { JobChangedDocument } from "../../generated/job.ts";

/** How many changes came since the page was opened. */
export function useLiveJob(markingNumber: string, onReload: () => void): number {
  const [count, setCount] = useState(0);
  useSubscription(JobChangedDocument, {
    ignoreResults: true,
    variables: { filter: { markingNumber: { eq: markingNumber } } },
    onData: () => setCount((former) => former + 1),
  });
  useWhenLiveAgain(onReload);
  return count;
}
