/** The latest changes: those that came while one looked on, and below them what had changed before. */
import type { DashboardChangeSubscription, DashboardJobFragment } from "../../generated/dashboard.ts";

export type FeedChange = DashboardChangeSubscription["jobChanged"];

export interface FeedEntry {
  key: string;
  at: string;
  job: DashboardJobFragment;
  /** Null: what it was is not known, only that it changed. */
  change: FeedChange | null;
}

/** As many as the lists beside it have. */
const MAX_ENTRIES = 6;

/** The newest change first. A job that is not seen any more is left out. */
export function prependChange(changes: readonly FeedChange[], change: FeedChange): FeedChange[] {
  return [change, ...changes.filter(({ id }) => id !== change.id)].slice(0, MAX_ENTRIES);
}

/** A job's last change is told once: by the event where it came, else by the job itself. */
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
