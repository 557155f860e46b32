/** How many jobs a change makes late or no longer late, and why others stay late. */
import { dueDay, isFinished, isLate, type WithDueDates } from "../job.due.ts";
import type { BulkOutcome } from "../../../generated/bulk-edit.ts";

const STILL_LATE_REASONS = {
  rejected: "can’t be changed",
  confirmed: "the confirmed date decides, and it is before today",
  past: "due before today",
} as const;

export interface LatenessRow {
  readonly outcome: BulkOutcome;
  /** Null if the job is not visible. */
  readonly before: WithDueDates | null;
  readonly after: WithDueDates | null;
}

export interface Lateness {
  noLonger: number;
  newly: number;
  still: number;
  /** Why jobs are late after the change, most frequent first. */
  reasons: { reason: string; count: number }[];
  /** Jobs that are never late. */
  finished: number;
}

export function compareLateness(rows: readonly LatenessRow[], now: string): Lateness {
  const result: Lateness = { noLonger: 0, newly: 0, still: 0, reasons: [], finished: 0 };
  const counts = new Map<string, number>();
  for (const { outcome, before, after: changed } of rows) {
    const after = changed ?? before;
    if (!before || !after) continue;
    const [wasLate, stillLate] = [isLate(before, now), isLate(after, now)];
    if (wasLate && !stillLate) result.noLonger += 1;
    else if (isFinished(after)) result.finished += 1;
    if (!stillLate) continue;
    result[wasLate ? "still" : "newly"] += 1;
    const reason = STILL_LATE_REASONS[reasonOf(outcome, before, after)];
    counts.set(reason, (counts.get(reason) ?? 0) + 1);
  }
  result.reasons = [...counts]
    .map(([reason, count]) => ({ reason, count }))
    .toSorted((one, other) => other.count - one.count);
  return result;
}

function reasonOf(
  outcome: BulkOutcome,
  before: WithDueDates,
  after: WithDueDates,
): keyof typeof STILL_LATE_REASONS {
  if (outcome === "FAILED") return "rejected";
  const isWithoutEffect =
    after.scheduledDate !== before.scheduledDate && dueDay(after) !== after.scheduledDate;
  return isWithoutEffect ? "confirmed" : "past";
}
