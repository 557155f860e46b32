/** Agenda's jobs in MongoDB, for several processes that come, hang and go. */
import { MongoJobRepository } from "@agendajs/mongo-backend";
import type { JobParameters, JobRepositoryOptions } from "agenda";
import { ObjectId, type Db } from "mongodb";
import { withMongoTimeout } from "./mongo-timeout.ts";
import { TASKS_COLLECTION } from "./task-document.ts";

export interface TaskRepositoryDeps {
  readonly db: Db;
  /** Of this process, and of no other. */
  readonly processName: string;
  readonly lockLifetimeMs: number;
  /** While it says no, nothing is asked for: each question would wait for MongoDB and fail. */
  isReachable(): boolean;
  /** Told of every look for jobs; null: it went well. */
  onPoll(failure: unknown): void;
}

type NextTaskArguments = Parameters<MongoJobRepository["getNextJobToRun"]>;

/** What Agenda is told that a job's lock dates from; what MongoDB is told is the time. */
const NEVER_EXPIRES = new Date(8.64e15);
/**
 * What is due by its time, then what is left of the dead. In Agenda's own order (by time alone) no index gives both, and
 * each look reads and sorts everything that is due.
 */
const POLL_ORDER = { lockedAt: "asc", nextRunAt: "asc" } as const;

/**
 * What differs from Agenda's own:
 * - whether a lock has run out is decided here alone. Agenda also looks at its copy of `lockedAt`, and forgets to give up
 *   the place of a job that ran out in its local queue (a laptop that slept): with a small lockLimit the task never runs again;
 * - one look for jobs at a time and task, and none while stopping;
 * - a job that runs once is deleted by the write that would record its end. Agenda's `removeOnComplete` comes after the
 *   event that its `drain` waits for, so that a drain waits for its whole timeout, and a crash in between leaves the job;
 * - nothing waits for MongoDB without end: the place of a job whose start or end is never answered would stay taken;
 * - unlocking never rejects: Agenda does not wait for it, and the rejection would end the program.
 */
export class TaskRepository extends MongoJobRepository {
  readonly #deps: TaskRepositoryDeps;
  readonly #polls = new Map<string, Promise<unknown>>();
  readonly #abandoned = new WeakSet<JobParameters>();
  #isClaiming = true;
  #isReleased = false;

  constructor(deps: TaskRepositoryDeps) {
    // The shipped index is not made: it reads every future job, and one that cannot be made is an unhandled rejection.
    // No write waits for the disk or another member: what a failover undoes is run again, or found by the sweep.
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
    // It may be another's by now; Agenda lets the error pass.
    if (this.#isReleased || this.#abandoned.has(job)) throw new Error("The job is no longer this process's.");
    if (job.type === "normal" && !job.lockedAt && !job.nextRunAt) {
      await withMongoTimeout(this.collection.deleteOne(this.#lockedByThisProcess(job)));
      return;
    }
    await withMongoTimeout(
      super.saveJobState(job.lockedAt ? { ...job, lockedAt: new Date() } : job, options),
    );
  }

  override async unlockJob(job: JobParameters): Promise<void> {
    // What stays locked is free again after the lock's lifetime.
    await super.unlockJob(job).catch(() => undefined);
  }

  /** Makes the lock's lifetime begin anew, unless another process holds it: Agenda's `touch` would take it from that one. */
  async extendLock(job: JobParameters): Promise<void> {
    await this.collection
      .updateOne(this.#lockedByThisProcess(job), { $set: { lockedAt: new Date() } })
      .catch(() => undefined);
  }

  /** Lets the lock run out: Agenda sees it gone, takes the place of the job as free, and what it saves of it is refused. */
  abandon(job: JobParameters): void {
    this.#abandoned.add(job);
    // In the caller's object: Agenda reads it there.
    delete job.lockedAt;
  }

  stopClaiming(): void {
    this.#isClaiming = false;
  }

  /** Once no look for jobs is under way. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#polls.values());
  }

  /**
   * Gives back what this process still holds, to be run at once by another. A job that was begun has no `nextRunAt` any
   * more; unlocked without one, as Agenda's `stop` does it, it would lie there for ever.
   */
  async release(): Promise<void> {
    this.#isReleased = true;
    await this.collection.updateMany(this.#lockedByThisProcess({}), [
      { $set: { lockedAt: null, nextRunAt: { $ifNull: ["$nextRunAt", "$$NOW"] } } },
    ]);
  }

  /** What this process holds: that job, or all. */
  #lockedByThisProcess({ _id: id }: Pick<JobParameters, "_id">) {
    return {
      ...(id && { _id: new ObjectId(id) }),
      lastModifiedBy: this.#deps.processName,
      lockedAt: { $ne: null },
    };
  }
}
