/** Jobs on their way to MongoDB: many in one write, each once, and never waited for by who scheduled them. */
import { setImmediate as nextTurn, setTimeout as pause } from "node:timers/promises";
import { MongoBulkWriteError } from "mongodb";
import type { Logger } from "../platform/logger.ts";
import { withMongoTimeout } from "./mongo-timeout.ts";
import { taskDocument, taskId, type TaskCollection, type NewTask } from "./task-document.ts";

export interface ScheduleBufferDeps {
  readonly processName: string;
  readonly logger: Logger;
  /** Once MongoDB is up. */
  collection(signal: AbortSignal): Promise<TaskCollection>;
  /** How many may wait while MongoDB is slow or away; more are dropped, for the sweep finds what they were for. */
  readonly capacity: number;
}

const BATCH_SIZE = 1_000;
const RETRY_DELAY_MS = 1_000;
const MAX_REMEMBERED = 50_000;
const DUPLICATE_KEY_CODE = 11_000;

/**
 * It writes straight into Agenda's collection. Agenda's `save` costs one round trip a job, which throughput cannot bear;
 * here a thousand share one, all those that come while one is under way go with the next, and the id alone is looked at.
 */
export class ScheduleBuffer {
  readonly #deps: ScheduleBufferDeps;
  readonly #closed = new AbortController();
  readonly #pending = new Map<string, NewTask>();
  /** What is in MongoDB already, with the time in milliseconds until when it surely is. */
  readonly #written = new Map<string, number>();
  #flushing: Promise<void> | null = null;
  #dropped = 0;

  constructor(deps: ScheduleBufferDeps) {
    this.#deps = deps;
  }

  add(task: NewTask): void {
    const key = `${task.name}\n${JSON.stringify(task.payload)}`;
    // From its time on a job may have run and be gone.
    if (this.#pending.has(key) || (this.#written.get(key) ?? 0) > Date.now()) return;
    if (this.#closed.signal.aborted || this.#pending.size >= this.#deps.capacity) {
      this.#dropped += 1;
      return;
    }
    this.#pending.set(key, task);
    this.#flushing ??= this.#flush();
  }

  /** Writes what waits, for as long as `giveUp` allows; then takes no more. */
  async close(deadline: AbortSignal): Promise<void> {
    const abort = (): void => this.#closed.abort();
    if (deadline.aborted) abort();
    deadline.addEventListener("abort", abort);
    await this.#flushing;
    abort();
  }

  async #flush(): Promise<void> {
    const { signal } = this.#closed;
    while (this.#pending.size > 0 && !signal.aborted) {
      try {
        await nextTurn();
        const tasks = await this.#deps.collection(signal);
        await untilAborted(signal, this.#writeBatch(tasks));
        this.#logDropped();
      } catch (error) {
        if (!signal.aborted) {
          this.#deps.logger.debug({ error }, "jobs could not be written to MongoDB; it is tried again");
        }
        await pause(RETRY_DELAY_MS, undefined, { signal }).catch(() => undefined);
      }
    }
    this.#flushing = null;
  }

  async #writeBatch(tasks: TaskCollection): Promise<void> {
    const batch = this.#pending.entries().take(BATCH_SIZE).toArray();
    const operations = batch.map(([, task]) => ({
      updateOne: {
        filter: { _id: taskId(task) },
        // Never on one that is there: it may be running.
        update: { $setOnInsert: taskDocument(task, this.#deps.processName) },
        upsert: true,
      },
    }));
    try {
      // One that a failover loses is forgiven like any other.
      await withMongoTimeout(tasks.bulkWrite(operations, { ordered: false, writeConcern: { w: 1 } }));
    } catch (error) {
      if (!hasOnlyDuplicateKeys(error)) throw error;
    }
    if (this.#written.size + batch.length > MAX_REMEMBERED) this.#written.clear();
    for (const [key, { nextRunAt }] of batch) {
      this.#pending.delete(key);
      this.#written.set(key, nextRunAt.getTime());
    }
  }

  #logDropped(): void {
    if (this.#dropped === 0) return;
    this.#deps.logger.warn(
      { dropped: this.#dropped },
      "MongoDB was away or slow for so long that jobs were not scheduled; the sweep finds what they were for",
    );
    this.#dropped = 0;
  }
}

/** Two processes that add the same job at once: one of them is told. */
function hasOnlyDuplicateKeys(error: unknown): boolean {
  if (!(error instanceof MongoBulkWriteError)) return false;
  const failures = [error.writeErrors].flat();
  // A connection that broke is such an error too, without any.
  return failures.length > 0 && failures.every(({ code }) => code === DUPLICATE_KEY_CODE);
}

async function untilAborted(signal: AbortSignal, work: Promise<void>): Promise<void> {
  const { promise: aborted, resolve } = Promise.withResolvers<void>();
  const abort = (): void => resolve();
  signal.addEventListener("abort", abort);
  try {
    await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}
