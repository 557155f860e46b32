/** The scheduler: one-off and recurring tasks, stored in MongoDB by Agenda and shared by all processes. */
import { randomBytes } from "node:crypto";
import { hostname } from "node:os";
import { setTimeout as pause } from "node:timers/promises";
import { Agenda, InMemoryNotificationChannel, type Job } from "agenda";
import { MongoServerError } from "mongodb";
import { withTimeout } from "../core/concurrency/timeout.ts";
import type { Logger } from "../core/logger.ts";
import type { Mongo } from "../core/mongo.ts";
import { startTrace, withSpan } from "../core/tracing/tracing.ts";
import { MINUTE_MS, SECOND_MS } from "../core/time.ts";
import { createBackend, TaskRepository } from "./repository.ts";
import type { Task, TaskHandler } from "./task.ts";

const defaultTimes = {
  processEveryMs: SECOND_MS,
  /** Interval for repairing recurring tasks. */
  maintainEveryMs: MINUTE_MS,
  /** Timeout for each step of a stop. */
  stopTimeoutMs: 5_000,
};

export interface SchedulerDeps {
  readonly mongo: Mongo;
  readonly logger: Logger;
  readonly times?: Partial<typeof defaultTimes>;
}

interface OpenedAgenda {
  readonly agenda: Agenda;
  readonly repository: TaskRepository;
}

const RETRY_DELAY_MS = 1_000;
const CONNECT_TIMEOUT_MS = 5_000;
const MAX_REMEMBERED = 50_000;
/** Limits for tasks of one name in this process: running and locked. */
const MAX_CONCURRENCY = 20;
const MAX_LOCKED = 100;

/** Does not wait for MongoDB. Disposing waits for running handlers and releases the locks of this process. */
export class Scheduler implements AsyncDisposable {
  readonly #mongo: Mongo;
  readonly #logger: Logger;
  readonly #processName = `${hostname()}:${process.pid}:${randomBytes(4).toString("hex")}`;
  readonly #times: typeof defaultTimes;
  readonly #stopping = new AbortController();
  /** The due times (ms) of scheduled tasks. Until then they cannot have run. */
  readonly #dueTimes = new Map<string, number>();
  readonly #writes = new Set<Promise<void>>();
  #opening: Promise<OpenedAgenda> | null = null;
  #maintaining: Promise<void> = Promise.resolve();
  #hasProblem = false;

  constructor({ mongo, logger, times }: SchedulerDeps) {
    this.#mongo = mongo;
    this.#logger = logger;
    this.#times = { ...defaultTimes, ...times };
  }

  /**
   * Schedules one run of `task` by any process that handles it. Has no effect if this process scheduled a run with the same
   * payload, so include the time in the payload. Does not wait for MongoDB. The run is lost while MongoDB is unavailable, so a
   * recurring task must find its work too. Throws a ZodError if the payload is invalid.
   */
  schedule<P extends object>({ name, payload: schema }: Task<P>, payload: P, runAt: Date): void {
    const key = `${name}\n${JSON.stringify(payload)}`;
    if ((this.#dueTimes.get(key) ?? 0) > Date.now()) return;
    const write = this.#write(name, schema.parse(payload), runAt).finally(() => this.#writes.delete(write));
    this.#writes.add(write);
    if (this.#dueTimes.size >= MAX_REMEMBERED) this.#dueTimes.clear();
    this.#dueTimes.set(key, runAt.getTime());
  }

  /** Starts to run tasks as soon as MongoDB is up. Call it once. */
  start(handlers: readonly TaskHandler[]): void {
    this.#maintaining = this.#maintain(handlers);
  }

  /** Claims no more tasks. Call it before stopping the services that the handlers use. */
  stopClaiming(): void {
    this.#stopping.abort(new Error("The scheduler is stopping."));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const { stopTimeoutMs } = this.#times;
    this.stopClaiming();
    await withTimeout(this.#maintaining, stopTimeoutMs);
    const opened = await this.#opening?.catch(() => null);
    await opened?.agenda.drain(stopTimeoutMs);
    // Locks that cannot be released expire after their lifetime.
    const released = opened?.repository.release(this.#processName).catch(() => undefined);
    await withTimeout(Promise.all([...this.#writes, released]), stopTimeoutMs);
  }

  async #write(name: string, payload: object, runAt: Date): Promise<void> {
    try {
      const { agenda } = await this.#open();
      await agenda.schedule(runAt, name, payload);
    } catch (error) {
      // A sweep does its work.
      this.#logger.debug({ error }, "a scheduled task was not written to MongoDB");
    }
  }

  /** Periodic, because MongoDB can lose its data. */
  async #maintain(handlers: readonly TaskHandler[]): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      let pauseMs = this.#times.maintainEveryMs;
      try {
        const { agenda, repository } = await this.#open();
        await repository.ensureRecurringTasks(handlers);
        if (!agenda.isActiveJobProcessor()) await startAgenda(agenda, handlers);
      } catch (error) {
        this.#report(error);
        pauseMs = RETRY_DELAY_MS;
      }
      await pause(pauseMs, undefined, { signal }).catch(() => undefined);
    }
  }

  #open(): Promise<OpenedAgenda> {
    this.#opening ??= this.#connect().catch((error: unknown) => {
      this.#opening = null;
      throw error;
    });
    return this.#opening;
  }

  /** Rejects if MongoDB is not up within 5 s. */
  async #connect(): Promise<OpenedAgenda> {
    const { signal: stopping } = this.#stopping;
    const timeout = AbortSignal.timeout(CONNECT_TIMEOUT_MS);
    const { client, databaseName } = await this.#mongo.waitUntilUp(AbortSignal.any([stopping, timeout]));
    // One acknowledgement is enough: a sweep does the work of a lost task.
    const db = client.db(databaseName, { writeConcern: { w: 1 } });
    const repository = new TaskRepository({ db, stopping, onPoll: (error) => this.#report(error) });
    const agenda = new Agenda({
      // Only of this process: with four processes, change streams cost eight findAndModify per task.
      notificationChannel: new InMemoryNotificationChannel(),
      backend: createBackend(repository),
      name: this.#processName,
      processEvery: this.#times.processEveryMs,
      maxConcurrency: 2 * MAX_CONCURRENCY,
      defaultConcurrency: MAX_CONCURRENCY,
      defaultLockLimit: MAX_LOCKED,
    });
    agenda.on("error", (error: Error) => {
      this.#logger.warn({ error: error.message }, "a scheduled task was interrupted");
    });
    agenda.on("fail", (error: Error, { attrs: { name: task, _id: taskId } }: Job) => {
      this.#logger.error({ task, taskId, error: error.message }, "a scheduled task failed");
    });
    await agenda.ready;
    return { agenda, repository };
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

async function startAgenda(agenda: Agenda, handlers: readonly TaskHandler[]): Promise<void> {
  for (const { name, lockLifetimeMs, run } of handlers)
    // Agenda would wait for a callback if the handler had two parameters; the lint rule checks that overload.
    // oxlint-disable-next-line typescript/no-misused-promises
    agenda.define(name, ({ attrs }: Job) => withSpan(startTrace(`task ${name}`), () => run(attrs.data)), {
      lockLifetime: lockLifetimeMs,
    });
  await agenda.start();
}
