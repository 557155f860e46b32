/** Lists the scheduled tasks of all processes by name, as Agenda stores them. */
import type { Db } from "mongodb";
import { SECOND_MS } from "../core/time.ts";
import { TASKS_COLLECTION } from "./task.ts";

export interface TaskSummary {
  readonly name: string;
  /** Null for one-off tasks, which are deleted after their run: only scheduled and running ones are known. */
  readonly interval_ms: number | null;
  readonly scheduled: number;
  readonly is_running: boolean;
  readonly last_run_at: Date | null;
  readonly last_finished_at: Date | null;
  readonly next_run_at: Date | null;
  /** Since the last success. */
  readonly failures_in_a_row: number;
  /** Of the last run; null if it succeeded. */
  readonly failure: string | null;
}

const MAX_TIME_MS = 5 * SECOND_MS;
const MAX_FAILURE_LENGTH = 500;

/** Returns all tasks by name, in one query. The last failure is that of the last run, if it failed. */
export async function listTasks(db: Db): Promise<TaskSummary[]> {
  const isFailing = { $gt: [{ $ifNull: ["$failCount", 0] }, 0] };
  return await db
    .collection(TASKS_COLLECTION)
    .aggregate<TaskSummary>(
      [
        {
          $group: {
            _id: "$name",
            interval_ms: { $max: "$repeatInterval" },
            scheduled: { $sum: 1 },
            is_running: { $max: { $gt: ["$lockedAt", null] } },
            last_run_at: { $max: "$lastRunAt" },
            last_finished_at: { $max: "$lastFinishedAt" },
            next_run_at: { $min: "$nextRunAt" },
            failures_in_a_row: { $max: { $ifNull: ["$failCount", 0] } },
            failure: {
              $max: {
                $cond: [
                  isFailing,
                  { $substrCP: [{ $ifNull: ["$failReason", ""] }, 0, MAX_FAILURE_LENGTH] },
                  null,
                ],
              },
            },
          },
        },
        { $addFields: { name: "$_id" } },
        { $project: { _id: 0 } },
        { $sort: { name: 1 } },
      ],
      { maxTimeMS: MAX_TIME_MS },
    )
    .toArray();
}
