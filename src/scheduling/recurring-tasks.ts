/** Maintains the recurring tasks in MongoDB: exactly one document per task across all processes and releases. */
import { taskDocument, taskId, type TaskCollection } from "./task-document.ts";
import type { TaskHandler } from "./task.ts";

/** Serves Agenda's poll for due tasks of one name that are not locked or whose lock has expired. */
const POLL_INDEX = { name: 1, lockedAt: 1, nextRunAt: 1, priority: -1 } as const;

export async function ensureIndex(tasks: TaskCollection): Promise<void> {
  await tasks.createIndex(POLL_INDEX, { name: "waymark_next_task" }, undefined);
}

/**
 * Inserts missing tasks and repairs those with another interval or a next run that is missing or too far in the future. Agenda's
 * `every` would unlock a running task and so let it run twice; this function never touches locks. A task that ends meanwhile
 * may overwrite the repaired next run once.
 */
export async function ensureRecurringTasks(
  tasks: TaskCollection,
  handlers: readonly TaskHandler[],
  processName: string,
): Promise<void> {
  const now = new Date();
  const operations = handlers.flatMap(({ name, intervalMs }) => {
    if (intervalMs === null) return [];
    const task = { name, payload: {}, nextRunAt: now, intervalMs };
    const byId = { _id: taskId(task) };
    const latest = new Date(now.getTime() + intervalMs);
    const needsRepair = [
      { repeatInterval: { $ne: intervalMs } },
      { nextRunAt: { $gt: latest } },
      { nextRunAt: null, lockedAt: null },
    ];
    const nextRunAt = { $min: [{ $ifNull: ["$nextRunAt", now] }, latest] };
    return [
      {
        updateOne: {
          filter: byId,
          update: { $setOnInsert: taskDocument(task, processName) },
          upsert: true,
        },
      },
      {
        updateOne: {
          filter: { ...byId, $or: needsRepair },
          update: [{ $set: { repeatInterval: intervalMs, nextRunAt } }],
        },
      },
    ];
  });
  if (operations.length > 0) await tasks.bulkWrite(operations);
}

/**
 * Resets locks with a start time in the future, which come from a clock that was set back or is ahead. Otherwise the lock of a
 * dead process would not expire for a long time. Resetting the lock of a running task is harmless.
 */
export async function repairLocks(
  tasks: TaskCollection,
  handlers: readonly TaskHandler[],
  lockLifetimeMs: number,
): Promise<void> {
  const now = Date.now();
  await tasks.updateMany(
    { name: { $in: handlers.map(({ name }) => name) }, lockedAt: { $gt: new Date(now + lockLifetimeMs) } },
    { $set: { lockedAt: new Date(now) } },
  );
}
