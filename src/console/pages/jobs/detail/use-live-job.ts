/** Subscribes to the changes of one job. Changes reach the page through the cache. */
import { useSubscription } from "@apollo/client/react";
import { useOnSubscribed } from "../../../app/api/connection-status.ts";
import { JobChangedDocument } from "../../../generated/job.ts";

/** `onReload` refetches the job. */
export function useLiveJob(markingNumber: string, onReload: () => void): void {
  useSubscription(JobChangedDocument, {
    ignoreResults: true,
    variables: { filter: { markingNumber: { eq: markingNumber } } },
    // A query in flight may overwrite the change with older data, so refetch.
    onData: onReload,
  });
  useOnSubscribed(onReload);
}
