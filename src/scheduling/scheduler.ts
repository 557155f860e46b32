/** The scheduler: one-off and recurring tasks, stored in MongoDB by Agenda and shared by all processes. */
import { randomBytes } from "node:crypto";
import { hostname } from "node:os";
import { setImmediate as nextTick, setTimeout as pause } from "node:timers/promises";
import { Agenda, InMemoryNotificationChannel, type Job, type JobId } from "agenda";
import { MongoServerError, type Db } from "mongodb";
import { withTimeout } from "../core/concurrency/timeout.ts";
import type { Logger } from "../core/logger.ts";
import type { Mongo } from "../core/mongo.ts";
import { startTrace, withSpan } from "../core/tracing/tracing.ts";
import { MINUTE_MS, SECOND_MS } from "../core/time.ts";
import { createBackend, TaskRepository } from "./repository.ts";
import { taskDocument, TASKS_COLLECTION, type Task, type TaskHandler } from "./task.ts";

/** Disposing waits for running handlers and releases the locks of this process. The connection to MongoDB stays open. */
export interface Scheduler extends AsyncDisposable {
  /**
   * Schedules one run of `task` by any process that handles it. Has no effect if a run with the same payload is scheduled, so
   * include the time in the payload. Does not wait for MongoDB. The run is lost while MongoDB is unavailable, so a recurring
   * task must find its work too. Throws a ZodError if the payload is invalid.
   */
  schedule<P extends object>(task: Task<P>, payload: P, runAt: Date): void;
  /** Starts to run tasks as soon as MongoDB is up. Call it once. */
  start(handlers: readonly TaskHandler[]): void;
  /** Claims no more tasks. Call it before stopping the services that the handlers use. */
  stopClaiming(): void;
}

export interface SchedulerTimes {
  readonly processEveryMs: number;
  /** Interval for repairing recurring tasks. */
  readonly maintainEveryMs: number;
  /** Timeout for each step of a stop. */
  readonly stopTimeoutMs: number;
}

export interface SchedulerDeps {
  readonly mongo: Mongo;
  readonly logger: Logger;
  /** Unique process name. Default: host, process id and a random suffix. */
  readonly name?: string;
  readonly times?: Partial<SchedulerTimes>;
}

const defaultTimes: SchedulerTimes = {
  processEveryMs: SECOND_MS,
  maintainEveryMs: MINUTE_MS,
  stopTimeoutMs: 5_000,
};
const RETRY_DELAY_MS = 1_000;
const CONNECT_TIMEOUT_MS = 5_000;
const MAX_REMEMBERED = 50_000;
/** Limits for tasks of one name in this process: running and locked. */
const MAX_CONCURRENCY = 20;
const MAX_LOCKED = 100;

/** Does not wait for MongoDB; connects in the background. */
export function createScheduler(deps: SchedulerDeps): Scheduler {
  return new AgendaScheduler(deps);
}

class AgendaScheduler implements Scheduler {
  readonly #mongo: Mongo;
  readonly #logger: Logger;
  readonly #processName: string;
  readonly #times: SchedulerTimes;
  readonly #stopping = new AbortController();
  /** Tells this process's Agenda of tasks that are due before its next poll. */
  readonly #channel = new InMemoryNotificationChannel();
  readonly #pending: ReturnType<typeof taskDocument>[] = [];
  /** The due times (ms) of scheduled tasks. Until then they cannot have run. */
  readonly #dueTimes = new Map<string, number>();
  #writing: Promise<void> | null = null;
  #maintaining: Promise<void> = Promise.resolve();
  #running: { agenda: Agenda; repository: TaskRepository } | null = null;
  #hasProblem = false;

  constructor({ mongo, logger, times, name }: SchedulerDeps) {
    this.#mongo = mongo;
    this.#logger = logger;
    this.#processName = name ?? `${hostname()}:${process.pid}:${randomBytes(4).toString("hex")}`;
    this.#times = { ...defaultTimes, ...times };
  }

  schedule<P extends object>({ name, payload: schema }: Task<P>, payload: P, runAt: Date): void {
    const key = `${name}\n${JSON.stringify(payload)}`;
    if ((this.#dueTimes.get(key) ?? 0) > Date.now()) return;
    this.#pending.push(taskDocument(name, schema.parse(payload), runAt));
    if (this.#dueTimes.size >= MAX_REMEMBERED) this.#dueTimes.clear();
    this.#dueTimes.set(key, runAt.getTime());
    this.#writing ??= this.#write();
  }

  start(handlers: readonly TaskHandler[]): void {
    this.#maintaining = this.#maintain(handlers);
  }

  stopClaiming(): void {
    this.#stopping.abort(new Error("The scheduler is stopping."));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const { stopTimeoutMs } = this.#times;
    this.stopClaiming();
    await withTimeout(this.#maintaining, stopTimeoutMs);
    await this.#running?.agenda.drain(stopTimeoutMs);
    await withTimeout(Promise.all([this.#writing, this.#release()]), stopTimeoutMs);
  }

  /** Writes all tasks of one event loop turn at once, because Agenda's `save` needs one round trip per task. */
  async #write(): Promise<void> {
    await nextTick();
    while (this.#pending.length > 0) {
      const batch = this.#pending.splice(0);
      try {
        const db = await this.#connect();
        await db.collection(TASKS_COLLECTION).insertMany(batch, { ordered: false });
        this.#notify(batch);
      } catch (error) {
        // Other processes scheduled the same tasks, or MongoDB is unavailable and a sweep does their work.
        this.#logger.debug({ error }, "some scheduled tasks were not written to MongoDB");
      }
    }
    this.#writing = null;
  }

  /** Agenda claims all due tasks of the name. */
  #notify(batch: readonly ReturnType<typeof taskDocument>[]): void {
    const timestamp = new Date();
    const soon = batch.filter(
      (task) => task.nextRunAt.getTime() < timestamp.getTime() + this.#times.processEveryMs,
    );
    if (this.#channel.state !== "connected") return;
    for (const jobName of new Set(soon.map(({ name }) => name)))
      void this.#channel.publish({ jobId: "" as JobId, jobName, nextRunAt: null, priority: 0, timestamp });
  }

  /** Periodic, because MongoDB can lose its data. */
  async #maintain(handlers: readonly TaskHandler[]): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      let pauseMs = this.#times.maintainEveryMs;
      try {
        this.#running ??= await this.#define(handlers);
        await this.#running.repository.ensureRecurringTasks(handlers);
        await this.#running.agenda.start();
      } catch (error) {
        this.#report(error);
        pauseMs = RETRY_DELAY_MS;
      }
      await pause(pauseMs, undefined, { signal }).catch(() => undefined);
    }
  }

  async #define(handlers: readonly TaskHandler[]) {
    const { signal: stopping } = this.#stopping;
    const db = await this.#connect(stopping);
    const repository = new TaskRepository({ db, stopping, onPoll: (error) => this.#report(error) });
    const agenda = new Agenda({
      // Only of this process: with four processes, change streams cost eight findAndModify per task.
      notificationChannel: this.#channel,
      backend: createBackend(repository),
      name: this.#processName,
      processEvery: this.#times.processEveryMs,
      maxConcurrency: MAX_CONCURRENCY + handlers.length,
      defaultConcurrency: MAX_CONCURRENCY,
      defaultLockLimit: MAX_LOCKED,
    });
    agenda.on("error", (error: Error) => {
      this.#logger.warn({ error: error.message }, "a scheduled task was interrupted");
    });
    agenda.on("fail", (error: Error, { attrs: { name: task, _id: taskId } }: Job) => {
      this.#logger.error({ task, taskId, error: error.message }, "a scheduled task failed");
    });
    for (const handler of handlers) {
      // Agenda would wait for a callback if the handler had two parameters; the lint rule checks that overload.
      // oxlint-disable-next-line typescript/no-misused-promises
      agenda.define(handler.name, ({ attrs }: Job) => this.#run(handler, attrs.data), {
        lockLifetime: handler.lockLifetimeMs,
      });
    }
    await agenda.ready;
    return { agenda, repository };
  }

  async #run(handler: TaskHandler, payload: unknown): Promise<void> {
    const span = startTrace(`task ${handler.name}`);
    await withSpan(span, () => handler.run(payload));
  }

  async #release(): Promise<void> {
    if (this.#mongo.status().state !== "up") return;
    // Locks that cannot be released expire after their lifetime.
    await this.#running?.repository.release(this.#processName).catch(() => undefined);
  }

  /** Rejects if MongoDB is not up within 5 s. One acknowledgement is enough: a sweep does the work of a lost task. */
  async #connect(signal?: AbortSignal): Promise<Db> {
    const timeout = AbortSignal.timeout(CONNECT_TIMEOUT_MS);
    const { client, databaseName } = await this.#mongo.waitUntilUp(
      signal ? AbortSignal.any([signal, timeout]) : timeout,
    );
    return client.db(databaseName, { writeConcern: { w: 1 } });
  }

  /** Logs once when a problem starts and once when it ends, not for each failed poll. */
  #report(error: unknown): void {
    const hasProblem = error !== null;
    if (hasProblem === this.#hasProblem || this.#stopping.signal.aborted) return;
    this.#hasProblem = hasProblem;
    const reason = error instanceof MongoServerError ? (error.codeName ?? "unknown") : "unreachable";
    if (hasProblem)
      this.#logger.warn(
        { problem: `MongoDB: ${reason}` },
        "scheduled tasks are paused; everything else works",
      );
    else this.#logger.info("scheduled tasks are running again");
  }
}
