/** Agenda's MongoDB repository, changed to survive processes that hang, crash or stop. */
import { MongoJobRepository } from "@agendajs/mongo-backend";
import type { JobParameters, JobRepositoryOptions } from "agenda";
import { ObjectId, type Db } from "mongodb";
import { withMongoTimeout } from "./mongo-timeout.ts";
import { TASKS_COLLECTION } from "./task-document.ts";

export interface TaskRepositoryDeps {
  readonly db: Db;
  /** Unique per process. */
  readonly processName: string;
  readonly lockLifetimeMs: number;
  /** While it returns false, polls are skipped: each would wait for MongoDB and fail. */
  isReachable(): boolean;
  /** Called after every poll with its error, or null. */
  onPoll(failure: unknown): void;
}

type NextTaskArguments = Parameters<MongoJobRepository["getNextJobToRun"]>;

/** The lock time that Agenda sees, so that it never treats a lock as expired. MongoDB stores the real time. */
const NEVER_EXPIRES = new Date(8.64e15);
/**
 * Due tasks by time, then tasks with an expired lock. No index supports Agenda's own order for both, so each poll would read
 * and sort all due tasks.
 */
const POLL_ORDER = { lockedAt: "asc", nextRunAt: "asc" } as const;

/**
 * Differences from Agenda's repository:
 * - Only this class decides that a lock has expired. Agenda also checks its copy of `lockedAt`, but does not free the slot of a
 *   task that expired in its local queue; with a small lockLimit the task would never run again.
 * - There is one poll per task name at a time, and none while stopping.
 * - A one-off task is deleted by the write that records its end. Agenda's `removeOnComplete` runs after the event that `drain`
 *   waits for, so a drain would take its whole timeout and a crash in between would leave the task behind.
 * - Every operation has a timeout, because a task whose start or end never settles would occupy its slot forever.
 * - Unlocking never rejects: Agenda does not await it, and the rejection would end the process.
 */
export class TaskRepository extends MongoJobRepository {
  readonly #deps: TaskRepositoryDeps;
  readonly #polls = new Map<string, Promise<unknown>>();
  readonly #abandoned = new WeakSet<JobParameters>();
  #isClaiming = true;
  #isReleased = false;

  constructor(deps: TaskRepositoryDeps) {
    // Agenda's index is not created: polls would scan every future task, and a failure would be an unhandled rejection.
    // `w: 1` is enough: work lost in a failover runs again or is done by the sweep.
    const mongo = deps.db.client.db(deps.db.databaseName, { writeConcern: { w: 1 } });
    super({ mongo, db: { collection: TASKS_COLLECTION }, ensureIndex: false, sort: POLL_ORDER });
    this.#deps = deps;
  }

  override async getNextJobToRun(...search: NextTaskArguments): Promise<JobParameters | undefined> {
    const [task, nextScanAt, , now, options] = search;
    if (!this.#isClaiming || this.#polls.has(task) || !this.#deps.isReachable()) return undefined;
    const lockDeadline = new Date(Date.now() - this.#deps.lockLifetimeMs);
    const poll = withMongoTimeout(super.getNextJobToRun(task, nextScanAt, lockDeadline, now, options));
    this.#polls.set(task, poll);
    try {
      const job = await poll;
      this.#deps.onPoll(null);
      return job && { ...job, lockedAt: NEVER_EXPIRES };
    } catch (error) {
      this.#deps.onPoll(error);
      return undefined;
    } finally {
      this.#polls.delete(task);
    }
  }

  override async saveJobState(job: JobParameters, options: JobRepositoryOptions | undefined): Promise<void> {
    // Another process may own the task by now. Agenda ignores the error.
    if (this.#isReleased || this.#abandoned.has(job))
      throw new Error("This process no longer holds the lock of the task.");
    if (job.type === "normal" && !job.lockedAt && !job.nextRunAt) {
      await withMongoTimeout(this.collection.deleteOne(this.#lockedByThisProcess(job)));
      return;
    }
    await withMongoTimeout(
      super.saveJobState(job.lockedAt ? { ...job, lockedAt: new Date() } : job, options),
    );
  }

  override async unlockJob(job: JobParameters): Promise<void> {
    // A lock that cannot be released expires after its lifetime.
    await super.unlockJob(job).catch(() => undefined);
  }

  /** Extends the lock if this process still holds it. Agenda's `touch` would take it from another process. */
  async extendLock(job: JobParameters): Promise<void> {
    await this.collection
      .updateOne(this.#lockedByThisProcess(job), { $set: { lockedAt: new Date() } })
      .catch(() => undefined);
  }

  /** Lets the lock expire. Agenda frees the task's slot, and its later attempts to save the task fail. */
  abandon(job: JobParameters): void {
    this.#abandoned.add(job);
    // Changes the caller's object, because Agenda reads it there.
    delete job.lockedAt;
  }

  stopClaiming(): void {
    this.#isClaiming = false;
  }

  /** Resolves when no poll is running. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#polls.values());
  }

  /**
   * Releases all locks of this process, so that another can run the tasks immediately. Sets `nextRunAt`, which a started task
   * has lost: after Agenda's own `stop` it would never run again.
   */
  async release(): Promise<void> {
    this.#isReleased = true;
    await this.collection.updateMany(this.#lockedByThisProcess({}), [
      { $set: { lockedAt: null, nextRunAt: { $ifNull: ["$nextRunAt", "$$NOW"] } } },
    ]);
  }

  /** Filter for the task with this id, or for all tasks, that this process has locked. */
  #lockedByThisProcess({ _id: id }: Pick<JobParameters, "_id">) {
    return {
      ...(id && { _id: new ObjectId(id) }),
      lastModifiedBy: this.#deps.processName,
      lockedAt: { $ne: null },
    };
  }
}
