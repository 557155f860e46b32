/** Agenda's MongoDB repository, changed so that a lost MongoDB does not end the process. */
import { createHash } from "node:crypto";
import { MongoJobRepository } from "@agendajs/mongo-backend";
import type { AgendaBackend, JobParameters, JobRepositoryOptions } from "agenda";
import { ObjectId, type Db } from "mongodb";
import { singleFlight } from "../core/concurrency/single-flight.ts";
import { TASKS_COLLECTION, type TaskHandler } from "./task.ts";

interface TaskRepositoryDeps {
  readonly db: Db;
  /** Once aborted, no more tasks are claimed. */
  readonly stopping: AbortSignal;
  /** Called after every poll with its error, or null. */
  onPoll(error: unknown): void;
}

type PollArguments = Parameters<MongoJobRepository["getNextJobToRun"]>;

/** Agenda's own index does not fit its polls: each would read all future tasks of a name. */
const POLL_INDEX = { name: 1, lockedAt: 1, nextRunAt: 1, priority: -1 } as const;
const POLL_ORDER = { lockedAt: "asc", nextRunAt: "asc" } as const;

export class TaskRepository extends MongoJobRepository {
  readonly #deps: TaskRepositoryDeps;
  #scanAt = new Date();
  /** Names of tasks that the last poll claimed. Agenda then asks for the next one. */
  readonly #claimed = new Set<string>();
  /** Agenda polls all names together. The polls share one statement, which returns the names with a due task. */
  readonly #dueNames = singleFlight(
    async () =>
      new Set(
        await this.collection.distinct("name", { name: { $gte: "" }, nextRunAt: { $lte: this.#scanAt } }),
      ),
  );

  constructor(deps: TaskRepositoryDeps) {
    super({ mongo: deps.db, db: { collection: TASKS_COLLECTION }, ensureIndex: false, sort: POLL_ORDER });
    this.#deps = deps;
  }

  /** Agenda does not catch the error of a poll. */
  override async getNextJobToRun(...search: PollArguments): Promise<JobParameters | undefined> {
    const { stopping } = this.#deps;
    const [name, nextScanAt] = search;
    this.#scanAt = nextScanAt;
    try {
      if (stopping.aborted) return undefined;
      const isDue = this.#claimed.delete(name) || (await this.#dueNames()).has(name);
      const job = isDue && !stopping.aborted ? await super.getNextJobToRun(...search) : undefined;
      if (job) this.#claimed.add(name);
      this.#deps.onPoll(null);
      return job;
    } catch (error) {
      this.#deps.onPoll(error);
      return undefined;
    }
  }

  /**
   * One write per one-off task: it is deleted at its end. Agenda would write at its start and end and delete it later, which
   * `drain` does not wait for.
   */
  override async saveJobState(job: JobParameters, options: JobRepositoryOptions | undefined): Promise<void> {
    const { _id: id, type, lockedAt } = job;
    if (type !== "normal") await super.saveJobState(job, options);
    // Another process may have claimed it after its lock was released.
    else if (!lockedAt)
      await this.collection.deleteOne({
        _id: new ObjectId(id),
        lastModifiedBy: options?.lastModifiedBy ?? null,
      });
  }

  /** Agenda does not wait for it. A lock that stays expires after its lifetime. */
  override async unlockJob(job: JobParameters): Promise<void> {
    await super.unlockJob(job).catch(() => undefined);
  }

  /**
   * Creates the index and the recurring tasks. Agenda's `every` would unlock a running task. Corrects intervals of an older
   * release, and next runs and locks in the future, which come from a clock that was ahead.
   */
  async ensureRecurringTasks(handlers: readonly TaskHandler[]): Promise<void> {
    await this.collection.createIndex(POLL_INDEX, { name: "waymark_next_task" }, undefined);
    const now = new Date();
    for (const { name, intervalMs } of handlers) {
      if (intervalMs === null) continue;
      const latest = new Date(now.getTime() + intervalMs);
      const task = {
        name,
        type: "single",
        repeatInterval: intervalMs,
        nextRunAt: { $min: [{ $ifNull: ["$nextRunAt", now] }, latest] },
        lockedAt: { $cond: [{ $gt: ["$lockedAt", now] }, now, "$lockedAt"] },
      };
      await this.collection.updateOne({ _id: recurringTaskId(name) }, [{ $set: task }], { upsert: true });
    }
  }

  /** Releases all locks of a process, so that another can run the tasks immediately. */
  async release(processName: string): Promise<void> {
    await this.collection.updateMany(
      { lastModifiedBy: processName, lockedAt: { $ne: null } },
      { $set: { lockedAt: null } },
    );
  }
}

/** By name, so that processes that start at the same time create one task. Agenda's own upsert would create two. */
function recurringTaskId(name: string): ObjectId {
  const digest = createHash("sha256").update(`${name}\n{}`).digest();
  return new ObjectId(digest.subarray(0, 12));
}

/** Returns a backend that opens no connection and creates no index, because Agenda does not catch their errors. */
export function createBackend(repository: MongoJobRepository): AgendaBackend {
  return {
    name: "MongoDB",
    repository,
    ownsConnection: false,
    connect: () => repository.connect(),
    disconnect: () => Promise.resolve(),
  };
}
