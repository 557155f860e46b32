/** The latest changes: those that came while one looked on, and below them what had changed before. */
import type { DashboardChangeSubscription, DashboardJobFragment } from "../../generated/dashboard.ts";

export type Change = DashboardChangeSubscription["jobChanged"];

export interface FeedEntry {
  key: string;
  at: string;
  job: DashboardJobFragment;
  /** Null: what it was is not known, only that it changed. */
  change: Change | null;
}

/** As many as the lists beside it have. */
const LONGEST = 6;

/** The newest change first. A job that is not seen any more is left out. */
export function withChange(changes: readonly Change[], change: Change): Change[] {
  return [change, ...changes.filter(({ id }) => id !== change.id)].slice(0, LONGEST);
}

/** A job's last change is told once: by the event where it came, else by the job itself. */
export function feedOf(changes: readonly Change[], recent: readonly DashboardJobFragment[]): FeedEntry[] {
  const told = changes.flatMap((change): FeedEntry[] =>
    change.job ? [{ key: change.id, at: change.occurredAt, job: change.job, change }] : [],
  );
  const before = recent
    .filter((job) => !told.some((entry) => entry.job.id === job.id && entry.at >= job.updatedAt))
    .map((job): FeedEntry => ({ key: `${job.id} ${job.updatedAt}`, at: job.updatedAt, job, change: null }));
  return [...told, ...before]
    .toSorted((one, other) => Date.parse(other.at) - Date.parse(one.at))
    .slice(0, LONGEST);
}
