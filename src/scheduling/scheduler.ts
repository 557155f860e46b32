/** Time, kept in MongoDB by Agenda and shared by all processes: what is to be done later, and what again and again. */
import { randomBytes } from "node:crypto";
import { hostname } from "node:os";
import { setTimeout as pause } from "node:timers/promises";
import type { Agenda } from "agenda";
import { MongoServerError } from "mongodb";
import type { Logger } from "../platform/logger.ts";
import type { Mongo } from "../platform/mongo.ts";
import type { Tracing } from "../platform/tracing.ts";
import { startAgenda } from "./agenda.ts";
import { answered } from "./answered.ts";
import { JOBS_COLLECTION, type JobCollection } from "./job-document.ts";
import { SharedJobRepository } from "./job-repository.ts";
import { ensureIndex, ensureRepeatingJobs, mendLocks } from "./repeating-jobs.ts";
import { ScheduleBuffer } from "./schedule-buffer.ts";
import { watchClock } from "./set-clock.ts";
import { checkPayload, type Handler, type Task } from "./task.ts";

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
  start(handlers: readonly Handler[]): void;
  /** Takes no more jobs. Others do, from now on: to be called before what the handlers poke is stopped. */
  stopTaking(): void;
  status(): SchedulerStatus;
}

export interface SchedulerTimes {
  readonly processEveryMs: number;
  /** When the jobs of a process that died are free again. */
  readonly lockLifetimeMs: number;
  readonly extendEveryMs: number;
  /** How often the repeating jobs are looked after. */
  readonly tendEveryMs: number;
  /** How often it is looked whether there is something to tell the log. */
  readonly watchEveryMs: number;
  /** How long a stop waits for what is to be written, and then for running handlers. */
  readonly stopMs: number;
}

export interface SchedulerParts {
  readonly mongo: Mongo;
  readonly logger: Logger;
  readonly tracing?: Tracing | undefined;
  /** Of this process, and of no other; made up unless given. */
  readonly name?: string;
  readonly times?: Partial<SchedulerTimes>;
  /** How many jobs may wait to be written while MongoDB is away. */
  readonly capacity?: number;
}

const usualTimes: SchedulerTimes = {
  processEveryMs: 250,
  lockLifetimeMs: 30_000,
  extendEveryMs: 10_000,
  tendEveryMs: 60_000,
  watchEveryMs: 1_000,
  stopMs: 5_000,
};
const CAPACITY = 10_000;
const RETRY_PAUSE_MS = 1_000;

/** Returns at once and waits for MongoDB in the background. */
export function createScheduler(parts: SchedulerParts): Scheduler {
  return new AgendaScheduler(parts);
}

class AgendaScheduler implements Scheduler {
  readonly #mongo: Mongo;
  readonly #logger: Logger;
  readonly #tracing: Tracing | undefined;
  readonly #name: string;
  readonly #times: SchedulerTimes;
  readonly #buffer: ScheduleBuffer;
  readonly #stopping = new AbortController();
  #handlers: readonly Handler[] = [];
  #running: Promise<void> = Promise.resolve();
  #repository: SharedJobRepository | null = null;
  #agenda: Agenda | null = null;
  /** Of the last look for jobs, or of what precedes the first. */
  #failure: string | null = null;
  #watch: NodeJS.Timeout | undefined;
  #isTroubleTold = false;
  readonly #clockSetBy = watchClock();
  /** Resolved: everything is looked after at once. */
  #hurry = Promise.withResolvers<void>();

  constructor({ mongo, logger, tracing, times, ...parts }: SchedulerParts) {
    this.#mongo = mongo;
    this.#logger = logger;
    this.#tracing = tracing;
    this.#name = parts.name ?? `${hostname()}:${process.pid}:${randomBytes(4).toString("hex")}`;
    this.#times = { ...usualTimes, ...times };
    this.#buffer = new ScheduleBuffer({
      processName: this.#name,
      logger,
      capacity: parts.capacity ?? CAPACITY,
      collection: async (signal) => (await mongo.whenUp(signal)).collection(JOBS_COLLECTION),
    });
  }

  schedule<P>(task: Task<P>, payload: P, at: Date): void {
    this.#buffer.add({
      name: task.name,
      payload: checkPayload(task, payload),
      nextRunAt: at,
      everyMs: null,
    });
  }

  start(handlers: readonly Handler[]): void {
    this.#handlers = handlers;
    this.#running = this.#run();
    this.#watch = setInterval(() => {
      this.#tellOfTrouble();
      this.#lookAtClock();
    }, this.#times.watchEveryMs);
  }

  stopTaking(): void {
    this.#stopping.abort(new Error("The scheduler is stopping."));
    this.#repository?.stopTaking();
    clearInterval(this.#watch);
  }

  status(): SchedulerStatus {
    if (this.#stopping.signal.aborted) return { status: "down", message: "is stopping" };
    const trouble = this.#trouble();
    if (trouble !== null) return { status: "down", message: trouble };
    const isStarting = this.#handlers.length > 0 && this.#agenda === null;
    return isStarting ? { status: "down", message: "is starting" } : { status: "up" };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.stopTaking();
    await within(this.#times.stopMs, this.#running);
    const { stopMs } = this.#times;
    await this.#buffer.close(this.#isReachable() ? AbortSignal.timeout(stopMs) : AbortSignal.abort());
    await this.#agenda?.drain(stopMs);
    await within(stopMs, this.#release());
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      const pauseMs = (await this.#tend()) ? this.#times.tendEveryMs : RETRY_PAUSE_MS;
      await this.#rest(pauseMs);
    }
  }

  async #rest(ms: number): Promise<void> {
    const early = new AbortController();
    const signal = AbortSignal.any([early.signal, this.#stopping.signal]);
    const rest = pause(ms, undefined, { signal }).catch(() => undefined);
    await Promise.race([rest, this.#hurry.promise]);
    early.abort();
    this.#hurry = Promise.withResolvers();
  }

  /** Everything is in its place: at the start, and again from time to time, for somebody may have removed it. */
  async #tend(): Promise<boolean> {
    const { signal } = this.#stopping;
    try {
      const db = await this.#mongo.whenUp(signal);
      const jobs: JobCollection = db.collection(JOBS_COLLECTION);
      await answered(ensureIndex(jobs));
      await answered(ensureRepeatingJobs(jobs, this.#handlers, this.#name));
      await answered(mendLocks(jobs, this.#handlers, this.#times.lockLifetimeMs));
      if (!signal.aborted) await this.#open();
      return true;
    } catch (error) {
      if (!signal.aborted) this.#keepFailure(error);
      return false;
    }
  }

  async #open(): Promise<void> {
    if (this.#agenda !== null) return;
    const { processEveryMs, lockLifetimeMs, extendEveryMs } = this.#times;
    this.#repository = new SharedJobRepository({
      db: await this.#mongo.whenUp(this.#stopping.signal),
      name: this.#name,
      lockLifetimeMs,
      isReachable: () => this.#isReachable(),
      onLook: (failure) => this.#keepFailure(failure),
    });
    this.#agenda = await startAgenda({
      repository: this.#repository,
      handlers: this.#handlers,
      logger: this.#logger,
      tracing: this.#tracing,
      name: this.#name,
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

  #keepFailure(failure: unknown): void {
    const reason = failure instanceof MongoServerError ? (failure.codeName ?? "unknown") : "out of reach";
    this.#failure = failure === null ? null : `MongoDB: ${reason}`;
  }

  #trouble(): string | null {
    const { state, message } = this.#mongo.status();
    return state === "up" ? this.#failure : `MongoDB: ${message ?? state}`;
  }

  /** What was to run in a second may be due in an hour now, and the other way round. */
  #lookAtClock(): void {
    const setByMs = this.#clockSetBy();
    if (setByMs === 0) return;
    this.#logger.warn({ setByMs }, "the clock was set; what is scheduled again and again is set right by it");
    this.#hurry.resolve();
  }

  /** A line when it comes and one when it goes, not one for each look that fails. */
  #tellOfTrouble(): void {
    const trouble = this.#mongo.status().state === "starting" ? null : this.#trouble();
    const isTrouble = trouble !== null;
    if (isTrouble === this.#isTroubleTold) return;
    this.#isTroubleTold = isTrouble;
    if (isTrouble) this.#logger.warn({ trouble }, "scheduled jobs wait; everything else goes on");
    else this.#logger.info("scheduled jobs are run again");
  }
}

/** Resolves when `work` does, or after `ms`. */
async function within(ms: number, work: Promise<void>): Promise<void> {
  const done = new AbortController();
  const late = pause(ms, undefined, { signal: done.signal }).catch(() => undefined);
  await Promise.race([work, late]);
  done.abort();
}
