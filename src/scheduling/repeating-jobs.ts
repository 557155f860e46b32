/** The jobs of tasks that repeat: exactly one each, over all processes, restarts and releases. */
import { jobDocument, jobId, type JobCollection } from "./job-document.ts";
import type { Handler } from "./task.ts";

/** Agenda looks for the jobs of a name that are not locked and due, and for those whose lock ran out. */
const LOOK_INDEX = { name: 1, lockedAt: 1, nextRunAt: 1, priority: -1 } as const;

export async function ensureIndex(jobs: JobCollection): Promise<void> {
  await jobs.createIndex(LOOK_INDEX, { name: "waymark_look" }, undefined);
}

/**
 * Adds those that are missing and sets right those that are not as this release has them: another interval, or a next run
 * that lies too far off or is gone. Agenda's `every` is not for this: it unlocks the job, so that a second copy runs beside
 * the first. Nothing here touches the lock; where the job runs meanwhile, its end may undo the next run once.
 */
export async function ensureRepeatingJobs(
  jobs: JobCollection,
  handlers: readonly Handler[],
  processName: string,
): Promise<void> {
  const now = new Date();
  const operations = handlers.flatMap(({ name, everyMs }) => {
    if (everyMs === null) return [];
    const job = { name, payload: {}, nextRunAt: now, everyMs };
    const only = { _id: jobId(job) };
    const latest = new Date(now.getTime() + everyMs);
    const isWrong = [
      { repeatInterval: { $ne: everyMs } },
      { nextRunAt: { $gt: latest } },
      { nextRunAt: null, lockedAt: null },
    ];
    const nextRunAt = { $min: [{ $ifNull: ["$nextRunAt", now] }, latest] };
    return [
      {
        updateOne: {
          filter: only,
          update: { $setOnInsert: jobDocument(job, processName) },
          upsert: true,
        },
      },
      {
        updateOne: {
          filter: { ...only, $or: isWrong },
          update: [{ $set: { repeatInterval: everyMs, nextRunAt } }],
        },
      },
    ];
  });
  if (operations.length > 0) await jobs.bulkWrite(operations);
}

/**
 * A lock that began in the future is of a clock that was set back since, or of a computer whose clock is ahead: it begins
 * now, so that it runs out in its time where its process is gone. Taken from one that is there it does no harm: handlers
 * only poke.
 */
export async function mendLocks(
  jobs: JobCollection,
  handlers: readonly Handler[],
  lockLifetimeMs: number,
): Promise<void> {
  const now = Date.now();
  await jobs.updateMany(
    { name: { $in: handlers.map(({ name }) => name) }, lockedAt: { $gt: new Date(now + lockLifetimeMs) } },
    { $set: { lockedAt: new Date(now) } },
  );
}
