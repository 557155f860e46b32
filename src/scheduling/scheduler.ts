/** The scheduler: one-off and recurring tasks, stored in MongoDB by Agenda and shared by all processes. */
import { randomBytes } from "node:crypto";
import { hostname } from "node:os";
import type { Agenda } from "agenda";
import { MongoServerError } from "mongodb";
import { untilAborted, withTimeout } from "../core/concurrency/timeout.ts";
import type { Logger } from "../core/logger.ts";
import type { Mongo } from "../core/mongo.ts";
import type { Tracing } from "../core/tracing/tracing.ts";
import { MINUTE_MS } from "../core/time.ts";
import { startAgenda } from "./agenda.ts";
import { withMongoTimeout } from "./mongo-timeout.ts";
import { TASKS_COLLECTION, type TaskCollection } from "./task-document.ts";
import { TaskRepository } from "./task-repository.ts";
import { ensureIndex, ensureRecurringTasks, repairLocks } from "./recurring-tasks.ts";
import { ScheduleBuffer } from "./schedule-buffer.ts";
import { checkPayload, type TaskHandler, type Task } from "./task.ts";

export interface SchedulerStatus {
  readonly status: "up" | "down";
  readonly message?: string;
}

/**
 * Disposing flushes scheduled tasks, waits for running handlers and releases the locks of this process. Each step takes at most
 * `stopTimeoutMs`. The connection to MongoDB stays open.
 */
export interface Scheduler extends AsyncDisposable {
  /**
   * Schedules one run of `task` by any process that handles it. Has no effect if a run with the same payload is scheduled, so
   * include the time in the payload. Does not wait for MongoDB; the run can be lost while MongoDB is unavailable. Throws
   * InvalidPayloadError.
   */
  schedule<P>(task: Task<P>, payload: P, runAt: Date): void;
  /** Starts to run tasks as soon as MongoDB is up. Call it once. */
  start(handlers: readonly TaskHandler[]): void;
  /** Claims no more tasks. Call it before stopping the services that the handlers use. */
  stopClaiming(): void;
  status(): SchedulerStatus;
}

export interface SchedulerTimes {
  readonly processEveryMs: number;
  /** Time after which another process can claim the tasks of a dead process. */
  readonly lockLifetimeMs: number;
  readonly extendEveryMs: number;
  /** Interval for repairing recurring tasks and locks. */
  readonly maintainEveryMs: number;
  /** Interval for logging problems and checking the clock. */
  readonly checkEveryMs: number;
  /** Timeout for each step of a stop. */
  readonly stopTimeoutMs: number;
}

export interface SchedulerDeps {
  readonly mongo: Mongo;
  readonly logger: Logger;
  readonly tracing?: Tracing | undefined;
  /** Unique process name. Default: host, process id and a random suffix. */
  readonly name?: string;
  readonly times?: Partial<SchedulerTimes>;
  /** Maximum number of tasks buffered while MongoDB is unavailable. Default: 10,000. */
  readonly capacity?: number;
}

const defaultTimes: SchedulerTimes = {
  processEveryMs: 250,
  lockLifetimeMs: 30_000,
  extendEveryMs: 10_000,
  maintainEveryMs: MINUTE_MS,
  checkEveryMs: 1_000,
  stopTimeoutMs: 5_000,
};
const DEFAULT_CAPACITY = 10_000;
const RETRY_DELAY_MS = 1_000;
/** Smaller differences between the clocks are ignored: gradual NTP corrections and the time between two readings. */
const JUMP_MS = 1_000;

/** Does not wait for MongoDB; connects in the background. */
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
  /** The error of the last poll or maintenance run. */
  #failure: string | null = null;
  #watch: NodeJS.Timeout | undefined;
  #isProblemLogged = false;
  readonly #clockJumpMs = createClockJumpDetector();
  /** At the last check. */
  #wasClockSet = false;
  /** Resolve it to start maintenance immediately. */
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
    await withTimeout(this.#maintaining, this.#times.stopTimeoutMs);
    const { stopTimeoutMs } = this.#times;
    await this.#buffer.close(this.#isReachable() ? AbortSignal.timeout(stopTimeoutMs) : AbortSignal.abort());
    await this.#agenda?.drain(stopTimeoutMs);
    await withTimeout(this.#release(), stopTimeoutMs);
  }

  async #maintainLoop(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      const pauseMs = (await this.#maintain()) ? this.#times.maintainEveryMs : RETRY_DELAY_MS;
      await this.#wait(pauseMs);
    }
  }

  async #wait(ms: number): Promise<void> {
    const timer = setTimeout(() => this.#maintainNow.resolve(), ms);
    await untilAborted(this.#maintainNow.promise, this.#stopping.signal);
    clearTimeout(timer);
    this.#maintainNow = Promise.withResolvers();
  }

  /** Ensures index, recurring tasks and locks. Runs periodically because they could be deleted. Returns false on failure. */
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
    // Locks that cannot be released expire after their lifetime.
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

  /** A clock change moves due times, so the recurring tasks must be repaired. */
  #checkClock(): void {
    const jumpMs = this.#clockJumpMs();
    const isSet = jumpMs !== 0;
    if (isSet) this.#logger.warn({ jumpMs }, "the clock was set; adjusting the recurring tasks");
    // Twice: a task that ends during the first adjustment may overwrite its next run.
    if (isSet || this.#wasClockSet) this.#maintainNow.resolve();
    this.#wasClockSet = isSet;
  }

  /** Logs once when a problem starts and once when it ends, not for each failed poll. */
  #logProblem(): void {
    const problem = this.#mongo.status().state === "starting" ? null : this.#problem();
    const hasProblem = problem !== null;
    if (hasProblem === this.#isProblemLogged) return;
    this.#isProblemLogged = hasProblem;
    if (hasProblem) this.#logger.warn({ problem }, "scheduled tasks are paused; everything else works");
    else this.#logger.info("scheduled tasks are running again");
  }
}

/**
 * Detects that the computer's clock was set, which changes when tasks are due. The returned function returns by how many
 * milliseconds it was set since the last call; 0 if it was not.
 */
function createClockJumpDetector(): () => number {
  let previous = clockOffsetMs();
  return () => {
    const current = clockOffsetMs();
    const jumpMs = current - previous;
    previous = current;
    return Math.abs(jumpMs) < JUMP_MS ? 0 : Math.round(jumpMs);
  };
}

/** Wall clock minus monotonic clock. It changes only if the wall clock is set or the computer slept. */
function clockOffsetMs(): number {
  return Date.now() - performance.now();
}
