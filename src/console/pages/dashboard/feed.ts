/** Merges live changes with the recently changed jobs of the last response. */
import type { DashboardChangeSubscription, DashboardJobFragment } from "../../generated/dashboard.ts";

export type FeedChange = DashboardChangeSubscription["jobChanged"];

export interface FeedEntry {
  key: string;
  at: string;
  job: DashboardJobFragment;
  /** Null if only the time of the change is known. */
  change: FeedChange | null;
}

/** The same length as the other lists of the dashboard. */
const MAX_ENTRIES = 6;

/** Adds a change in front and drops duplicates and old entries. */
export function prependChange(changes: readonly FeedChange[], change: FeedChange): FeedChange[] {
  return [change, ...changes.filter(({ id }) => id !== change.id)].slice(0, MAX_ENTRIES);
}

/**
 * Lists a job's latest change once: from the live event if there is one, else from the job. Skips changes of jobs
 * that are no longer visible.
 */
export function buildFeed(
  changes: readonly FeedChange[],
  recent: readonly DashboardJobFragment[],
): FeedEntry[] {
  const liveEntries = changes.flatMap((change): FeedEntry[] =>
    change.job ? [{ key: change.id, at: change.occurredAt, job: change.job, change }] : [],
  );
  const earlierEntries = recent
    .filter((job) => !liveEntries.some((entry) => entry.job.id === job.id && entry.at >= job.updatedAt))
    .map((job): FeedEntry => ({ key: `${job.id} ${job.updatedAt}`, at: job.updatedAt, job, change: null }));
  return [...liveEntries, ...earlierEntries]
    .toSorted((one, other) => Date.parse(other.at) - Date.parse(one.at))
    .slice(0, MAX_ENTRIES);
}
