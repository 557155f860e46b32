/** Follows one job: each change comes into the cache, and with it onto the page. */
import { useSubscription } from "@apollo/client/react";
import { useOnSubscribed } from "../../../app/api/connection-status.ts";
import { JobChangedDocument } from "../../../generated/job.ts";

/** `onReload` reads the job anew. */
export function useLiveJob(markingNumber: string, onReload: () => void): void {
  useSubscription(JobChangedDocument, {
    ignoreResults: true,
    variables: { filter: { markingNumber: { eq: markingNumber } } },
    // A reading that was under way may take the place of what came, and be older.
    onData: onReload,
  });
  useOnSubscribed(onReload);
}
