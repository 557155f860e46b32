/** Time, kept in MongoDB by Agenda and shared by all processes: what is to be done later, and what again and again. */
import { randomBytes } from "node:crypto";
import { hostname } from "node:os";
import { setTimeout as pause } from "node:timers/promises";
import type { Agenda } from "agenda";
import { MongoServerError } from "mongodb";
import type { Logger } from "../platform/logger.ts";
import type { Mongo } from "../platform/mongo.ts";
import type { Tracing } from "../platform/tracing/tracing.ts";
import { startAgenda } from "./agenda.ts";
import { withMongoTimeout } from "./mongo-timeout.ts";
import { TASKS_COLLECTION, type TaskCollection } from "./task-document.ts";
import { TaskRepository } from "./task-repository.ts";
import { ensureIndex, ensureRecurringTasks, repairLocks } from "./recurring-tasks.ts";
import { ScheduleBuffer } from "./schedule-buffer.ts";
import { createClockJumpDetector } from "./clock-jump.ts";
import { checkPayload, type TaskHandler, type Task } from "./task.ts";

export interface SchedulerStatus {
  readonly status: "up" | "down";
  readonly message?: string;
}

/**
 * Disposing writes what was scheduled, lets running handlers return, gives back what this process still holds, and leaves
 * the connection to MongoDB to who opened it. None of these waits longer than `stopMs`.
 */
export interface Scheduler extends AsyncDisposable {
  /**
   * Has `task` run at `at` with this payload, by some process that handles it. At most one such job is there at a time: a
   * second with the same payload changes nothing, so a payload says its time. Returns at once and may be lost while
   * MongoDB is away. Throws an InvalidPayloadError.
   */
  schedule<P>(task: Task<P>, payload: P, at: Date): void;
  /** Begins to do these, as soon as MongoDB is up; once in a scheduler's life. */
  start(handlers: readonly TaskHandler[]): void;
  /** Takes no more jobs. Others do, from now on: to be called before what the handlers poke is stopped. */
  stopClaiming(): void;
  status(): SchedulerStatus;
}

export interface SchedulerTimes {
  readonly processEveryMs: number;
  /** When the jobs of a process that died are free again. */
  readonly lockLifetimeMs: number;
  readonly extendEveryMs: number;
  /** How often the repeating jobs are looked after. */
  readonly maintainEveryMs: number;
  /** How often it is looked whether there is something to tell the log. */
  readonly checkEveryMs: number;
  /** How long a stop waits for what is to be written, and then for running handlers. */
  readonly stopTimeoutMs: number;
}

export interface SchedulerDeps {
  readonly mongo: Mongo;
  readonly logger: Logger;
  readonly tracing?: Tracing | undefined;
  /** Of this process, and of no other; made up unless given. */
  readonly name?: string;
  readonly times?: Partial<SchedulerTimes>;
  /** How many jobs may wait to be written while MongoDB is away. */
  readonly capacity?: number;
}

const defaultTimes: SchedulerTimes = {
  processEveryMs: 250,
  lockLifetimeMs: 30_000,
  extendEveryMs: 10_000,
  maintainEveryMs: 60_000,
  checkEveryMs: 1_000,
  stopTimeoutMs: 5_000,
};
const DEFAULT_CAPACITY = 10_000;
const RETRY_DELAY_MS = 1_000;

/** Returns at once and waits for MongoDB in the background. */
export function createScheduler(deps: SchedulerDeps): Scheduler {
  return new AgendaScheduler(deps);
}

class AgendaScheduler implements Scheduler {
  readonly #mongo: Mongo;
  readonly #logger: Logger;
  readonly #tracing: Tracing | undefined;
  readonly #processName: string;
  readonly #times: SchedulerTimes;
  readonly #buffer: ScheduleBuffer;
  readonly #stopping = new AbortController();
  #handlers: readonly TaskHandler[] = [];
  #maintaining: Promise<void> = Promise.resolve();
  #repository: TaskRepository | null = null;
  #agenda: Agenda | null = null;
  /** Of the last look for jobs, or of what precedes the first. */
  #failure: string | null = null;
  #watch: NodeJS.Timeout | undefined;
  #isProblemLogged = false;
  readonly #clockJumpMs = createClockJumpDetector();
  /** Resolved: everything is looked after at once. */
  #maintainNow = Promise.withResolvers<void>();

  constructor({ mongo, logger, tracing, times, ...deps }: SchedulerDeps) {
    this.#mongo = mongo;
    this.#logger = logger;
    this.#tracing = tracing;
    this.#processName = deps.name ?? `${hostname()}:${process.pid}:${randomBytes(4).toString("hex")}`;
    this.#times = { ...defaultTimes, ...times };
    this.#buffer = new ScheduleBuffer({
      processName: this.#processName,
      logger,
      capacity: deps.capacity ?? DEFAULT_CAPACITY,
      collection: async (signal) => (await mongo.waitUntilUp(signal)).collection(TASKS_COLLECTION),
    });
  }

  schedule<P>(task: Task<P>, payload: P, runAt: Date): void {
    this.#buffer.add({
      name: task.name,
      payload: checkPayload(task, payload),
      nextRunAt: runAt,
      intervalMs: null,
    });
  }

  start(handlers: readonly TaskHandler[]): void {
    this.#handlers = handlers;
    this.#maintaining = this.#maintainLoop();
    this.#watch = setInterval(() => {
      this.#logProblem();
      this.#checkClock();
    }, this.#times.checkEveryMs);
  }

  stopClaiming(): void {
    this.#stopping.abort(new Error("The scheduler is stopping."));
    this.#repository?.stopClaiming();
    clearInterval(this.#watch);
  }

  status(): SchedulerStatus {
    if (this.#stopping.signal.aborted) return { status: "down", message: "is stopping" };
    const problem = this.#problem();
    if (problem !== null) return { status: "down", message: problem };
    const isStarting = this.#handlers.length > 0 && this.#agenda === null;
    return isStarting ? { status: "down", message: "is starting" } : { status: "up" };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.stopClaiming();
    await waitAtMost(this.#times.stopTimeoutMs, this.#maintaining);
    const { stopTimeoutMs } = this.#times;
    await this.#buffer.close(this.#isReachable() ? AbortSignal.timeout(stopTimeoutMs) : AbortSignal.abort());
    await this.#agenda?.drain(stopTimeoutMs);
    await waitAtMost(stopTimeoutMs, this.#release());
  }

  async #maintainLoop(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      const pauseMs = (await this.#maintain()) ? this.#times.maintainEveryMs : RETRY_DELAY_MS;
      await this.#wait(pauseMs);
    }
  }

  async #wait(ms: number): Promise<void> {
    const early = new AbortController();
    const signal = AbortSignal.any([early.signal, this.#stopping.signal]);
    const rest = pause(ms, undefined, { signal }).catch(() => undefined);
    await Promise.race([rest, this.#maintainNow.promise]);
    early.abort();
    this.#maintainNow = Promise.withResolvers();
  }

  /** Everything is in its place: at the start, and again from time to time, for somebody may have removed it. */
  async #maintain(): Promise<boolean> {
    const { signal } = this.#stopping;
    try {
      const db = await this.#mongo.waitUntilUp(signal);
      const tasks: TaskCollection = db.collection(TASKS_COLLECTION);
      await withMongoTimeout(ensureIndex(tasks));
      await withMongoTimeout(ensureRecurringTasks(tasks, this.#handlers, this.#processName));
      await withMongoTimeout(repairLocks(tasks, this.#handlers, this.#times.lockLifetimeMs));
      if (!signal.aborted) await this.#open();
      return true;
    } catch (error) {
      if (!signal.aborted) this.#recordFailure(error);
      return false;
    }
  }

  async #open(): Promise<void> {
    if (this.#agenda !== null) return;
    const { processEveryMs, lockLifetimeMs, extendEveryMs } = this.#times;
    this.#repository = new TaskRepository({
      db: await this.#mongo.waitUntilUp(this.#stopping.signal),
      processName: this.#processName,
      lockLifetimeMs,
      isReachable: () => this.#isReachable(),
      onPoll: (failure) => this.#recordFailure(failure),
    });
    this.#agenda = await startAgenda({
      repository: this.#repository,
      handlers: this.#handlers,
      logger: this.#logger,
      tracing: this.#tracing,
      processName: this.#processName,
      processEveryMs,
      extendEveryMs,
    });
  }

  async #release(): Promise<void> {
    await this.#repository?.settled();
    if (!this.#isReachable()) return;
    // What stays locked is free again after the lock's lifetime.
    await this.#repository?.release().catch(() => undefined);
  }

  #isReachable(): boolean {
    return this.#mongo.status().state === "up";
  }

  #recordFailure(failure: unknown): void {
    const reason = failure instanceof MongoServerError ? (failure.codeName ?? "unknown") : "unreachable";
    this.#failure = failure === null ? null : `MongoDB: ${reason}`;
  }

  #problem(): string | null {
    const { state, message } = this.#mongo.status();
    return state === "up" ? this.#failure : `MongoDB: ${message ?? state}`;
  }

  /** What was to run in a second may be due in an hour now, and the other way round. */
  #checkClock(): void {
    const jumpMs = this.#clockJumpMs();
    if (jumpMs === 0) return;
    this.#logger.warn({ jumpMs }, "the clock was set; what is scheduled again and again is set right by it");
    this.#maintainNow.resolve();
  }

  /** A line when it comes and one when it goes, not one for each look that fails. */
  #logProblem(): void {
    const problem = this.#mongo.status().state === "starting" ? null : this.#problem();
    const isTrouble = problem !== null;
    if (isTrouble === this.#isProblemLogged) return;
    this.#isProblemLogged = isTrouble;
    if (isTrouble) this.#logger.warn({ trouble: problem }, "scheduled jobs wait; everything else goes on");
    else this.#logger.info("scheduled jobs are run again");
  }
}

/** Resolves when `work` does, or after `ms`. */
async function waitAtMost(ms: number, work: Promise<void>): Promise<void> {
  const done = new AbortController();
  const late = pause(ms, undefined, { signal: done.signal }).catch(() => undefined);
  await Promise.race([work, late]);
  done.abort();
}
