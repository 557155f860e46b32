/** Agenda's jobs in MongoDB, for several processes that come, hang and go. */
import { MongoJobRepository } from "@agendajs/mongo-backend";
import type { JobParameters, JobRepositoryOptions } from "agenda";
import { ObjectId, type Db } from "mongodb";
import { answered } from "./answered.ts";
import { JOBS_COLLECTION } from "./job-document.ts";

export interface JobRepositoryParts {
  readonly db: Db;
  /** Of this process, and of no other. */
  readonly name: string;
  readonly lockLifetimeMs: number;
  /** While it says no, nothing is asked for: each question would wait for MongoDB and fail. */
  isReachable(): boolean;
  /** Told of every look for jobs; null: it went well. */
  onLook(failure: unknown): void;
}

type Search = Parameters<MongoJobRepository["getNextJobToRun"]>;

/** What Agenda is told that a job's lock dates from; what MongoDB is told is the time. */
const NEVER_EXPIRES = new Date(8.64e15);
/**
 * What is due by its time, then what is left of the dead. In Agenda's own order (by time alone) no index gives both, and
 * each look reads and sorts everything that is due.
 */
const LOOK_ORDER = { lockedAt: "asc", nextRunAt: "asc" } as const;

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
export class SharedJobRepository extends MongoJobRepository {
  readonly #parts: JobRepositoryParts;
  readonly #looks = new Map<string, Promise<unknown>>();
  readonly #givenUp = new WeakSet<JobParameters>();
  #isTaking = true;
  #isReleased = false;

  constructor(parts: JobRepositoryParts) {
    // The shipped index is not made: it reads every future job, and one that cannot be made is an unhandled rejection.
    // No write waits for the disk or another member: what a failover undoes is run again, or found by the sweep.
    const mongo = parts.db.client.db(parts.db.databaseName, { writeConcern: { w: 1 } });
    super({ mongo, db: { collection: JOBS_COLLECTION }, ensureIndex: false, sort: LOOK_ORDER });
    this.#parts = parts;
  }

  override async getNextJobToRun(...search: Search): Promise<JobParameters | undefined> {
    const [task, nextScanAt, , now, options] = search;
    if (!this.#isTaking || this.#looks.has(task) || !this.#parts.isReachable()) return undefined;
    const lockDeadline = new Date(Date.now() - this.#parts.lockLifetimeMs);
    const look = answered(super.getNextJobToRun(task, nextScanAt, lockDeadline, now, options));
    this.#looks.set(task, look);
    try {
      const job = await look;
      this.#parts.onLook(null);
      return job && { ...job, lockedAt: NEVER_EXPIRES };
    } catch (error) {
      this.#parts.onLook(error);
      return undefined;
    } finally {
      this.#looks.delete(task);
    }
  }

  override async saveJobState(job: JobParameters, options: JobRepositoryOptions | undefined): Promise<void> {
    // It may be another's by now; Agenda lets the error pass.
    if (this.#isReleased || this.#givenUp.has(job)) throw new Error("The job is no longer this process's.");
    if (job.type === "normal" && !job.lockedAt && !job.nextRunAt) {
      await answered(this.collection.deleteOne(this.#held(job)));
      return;
    }
    await answered(super.saveJobState(job.lockedAt ? { ...job, lockedAt: new Date() } : job, options));
  }

  override async unlockJob(job: JobParameters): Promise<void> {
    // What stays locked is free again after the lock's lifetime.
    await super.unlockJob(job).catch(() => undefined);
  }

  /** Makes the lock's lifetime begin anew, unless another process holds it: Agenda's `touch` would take it from that one. */
  async extendLock(job: JobParameters): Promise<void> {
    await this.collection
      .updateOne(this.#held(job), { $set: { lockedAt: new Date() } })
      .catch(() => undefined);
  }

  /** Lets the lock run out: Agenda sees it gone, takes the place of the job as free, and what it saves of it is refused. */
  giveUp(job: JobParameters): void {
    this.#givenUp.add(job);
    // In the caller's object: Agenda reads it there.
    delete job.lockedAt;
  }

  stopTaking(): void {
    this.#isTaking = false;
  }

  /** Once no look for jobs is under way. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#looks.values());
  }

  /**
   * Gives back what this process still holds, to be run at once by another. A job that was begun has no `nextRunAt` any
   * more; unlocked without one, as Agenda's `stop` does it, it would lie there for ever.
   */
  async release(): Promise<void> {
    this.#isReleased = true;
    await this.collection.updateMany(this.#held({}), [
      { $set: { lockedAt: null, nextRunAt: { $ifNull: ["$nextRunAt", "$$NOW"] } } },
    ]);
  }

  /** What this process holds: that job, or all. */
  #held({ _id: id }: Pick<JobParameters, "_id">) {
    return {
      ...(id && { _id: new ObjectId(id) }),
      lastModifiedBy: this.#parts.name,
      lockedAt: { $ne: null },
    };
  }
}
