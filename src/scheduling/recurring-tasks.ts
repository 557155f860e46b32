/** The jobs of tasks that repeat: exactly one each, over all processes, restarts and releases. */
import { taskDocument, taskId, type TaskCollection } from "./task-document.ts";
import type { TaskHandler } from "./task.ts";

/** Agenda looks for the jobs of a name that are not locked and due, and for those whose lock ran out. */
const POLL_INDEX = { name: 1, lockedAt: 1, nextRunAt: 1, priority: -1 } as const;

export async function ensureIndex(tasks: TaskCollection): Promise<void> {
  await tasks.createIndex(POLL_INDEX, { name: "waymark_next_task" }, undefined);
}

/**
 * Adds those that are missing and sets right those that are not as this release has them: another interval, or a next run
 * that lies too far off or is gone. Agenda's `every` is not for this: it unlocks the job, so that a second copy runs beside
 * the first. Nothing here touches the lock; where the job runs meanwhile, its end may undo the next run once.
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
    const only = { _id: taskId(task) };
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
          filter: only,
          update: { $setOnInsert: taskDocument(task, processName) },
          upsert: true,
        },
      },
      {
        updateOne: {
          filter: { ...only, $or: needsRepair },
          update: [{ $set: { repeatInterval: intervalMs, nextRunAt } }],
        },
      },
    ];
  });
  if (operations.length > 0) await tasks.bulkWrite(operations);
}

/**
 * A lock that began in the future is of a clock that was set back since, or of a computer whose clock is ahead: it begins
 * now, so that it runs out in its time where its process is gone. Taken from one that is there it does no harm: handlers
 * only poke.
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
