/** Buffers scheduled tasks and writes them to MongoDB in batches, so that scheduling never blocks the caller. */
import { setImmediate as nextTick, setTimeout as pause } from "node:timers/promises";
import { MongoBulkWriteError } from "mongodb";
import type { Logger } from "../core/logger.ts";
import { withMongoTimeout } from "./mongo-timeout.ts";
import { taskDocument, taskId, type TaskCollection, type NewTask } from "./task-document.ts";
import { untilAborted } from "../core/concurrency/timeout.ts";

export interface ScheduleBufferDeps {
  readonly processName: string;
  readonly logger: Logger;
  /** Resolves when MongoDB is up. */
  collection(signal: AbortSignal): Promise<TaskCollection>;
  /** Maximum number of buffered tasks. Further ones are dropped; the sweep does their work later. */
  readonly capacity: number;
}

const BATCH_SIZE = 1_000;
const RETRY_DELAY_MS = 1_000;
const MAX_WRITTEN = 50_000;
const DUPLICATE_KEY_CODE = 11_000;

/**
 * Writes directly to Agenda's collection in batches of up to 1,000, because Agenda's `save` needs one round trip per task. Tasks
 * added during a write go into the next one.
 */
export class ScheduleBuffer {
  readonly #deps: ScheduleBufferDeps;
  readonly #closed = new AbortController();
  readonly #pending = new Map<string, NewTask>();
  /** Tasks known to be in MongoDB, with the time (ms) until which they cannot have run. */
  readonly #written = new Map<string, number>();
  #flushing: Promise<void> | null = null;
  #dropped = 0;

  constructor(deps: ScheduleBufferDeps) {
    this.#deps = deps;
  }

  add(task: NewTask): void {
    const key = `${task.name}\n${JSON.stringify(task.payload)}`;
    // From its due time on, a task may have run and been deleted.
    if (this.#pending.has(key) || (this.#written.get(key) ?? 0) > Date.now()) return;
    if (this.#closed.signal.aborted || this.#pending.size >= this.#deps.capacity) {
      this.#dropped += 1;
      return;
    }
    this.#pending.set(key, task);
    this.#flushing ??= this.#flush();
  }

  /** Flushes the buffer until `deadline` aborts; then drops every further task. */
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
        await nextTick();
        const tasks = await this.#deps.collection(signal);
        await untilAborted(this.#writeBatch(tasks), signal);
        this.#logDropped();
      } catch (error) {
        if (!signal.aborted) {
          this.#deps.logger.debug({ error }, "writing scheduled tasks to MongoDB failed, retrying");
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
        // Insert only: an existing task may be running.
        update: { $setOnInsert: taskDocument(task, this.#deps.processName) },
        upsert: true,
      },
    }));
    try {
      // One acknowledgement is enough: the sweep does the work of a task lost in a failover.
      await withMongoTimeout(tasks.bulkWrite(operations, { ordered: false, writeConcern: { w: 1 } }));
    } catch (error) {
      if (!hasOnlyDuplicateKeys(error)) throw error;
    }
    if (this.#written.size + batch.length > MAX_WRITTEN) this.#written.clear();
    for (const [key, { nextRunAt }] of batch) {
      this.#pending.delete(key);
      this.#written.set(key, nextRunAt.getTime());
    }
  }

  #logDropped(): void {
    if (this.#dropped === 0) return;
    this.#deps.logger.warn(
      { dropped: this.#dropped },
      "the buffer of scheduled tasks was full because MongoDB was slow or unavailable; the sweep does their work",
    );
    this.#dropped = 0;
  }
}

/** True if other processes had inserted the same tasks and nothing else failed. */
function hasOnlyDuplicateKeys(error: unknown): boolean {
  if (!(error instanceof MongoBulkWriteError)) return false;
  const failures = [error.writeErrors].flat();
  // A lost connection raises the same error with an empty list.
  return failures.length > 0 && failures.every(({ code }) => code === DUPLICATE_KEY_CODE);
}
