/** Jobs on their way to MongoDB: many in one write, each once, and never waited for by who scheduled them. */
import { setImmediate as nextTurn, setTimeout as pause } from "node:timers/promises";
import { MongoBulkWriteError } from "mongodb";
import type { Logger } from "../platform/logger.ts";
import { answered } from "./answered.ts";
import { jobDocument, jobId, type JobCollection, type NewJob } from "./job-document.ts";

export interface ScheduleBufferParts {
  readonly processName: string;
  readonly logger: Logger;
  /** Once MongoDB is up. */
  collection(signal: AbortSignal): Promise<JobCollection>;
  /** How many may wait while MongoDB is slow or away; more are dropped, for the sweep finds what they were for. */
  readonly capacity: number;
}

const AT_ONCE = 1_000;
const RETRY_PAUSE_MS = 1_000;
const REMEMBERED = 50_000;
const DUPLICATE_KEY = 11_000;

/**
 * It writes straight into Agenda's collection. Agenda's `save` costs one round trip a job, which throughput cannot bear;
 * here a thousand share one, all those that come while one is under way go with the next, and the id alone is looked at.
 */
export class ScheduleBuffer {
  readonly #parts: ScheduleBufferParts;
  readonly #closed = new AbortController();
  readonly #waiting = new Map<string, NewJob>();
  /** What is in MongoDB already, with the time in milliseconds until when it surely is. */
  readonly #written = new Map<string, number>();
  #flushing: Promise<void> | null = null;
  #dropped = 0;

  constructor(parts: ScheduleBufferParts) {
    this.#parts = parts;
  }

  add(job: NewJob): void {
    const key = `${job.name}\n${JSON.stringify(job.payload)}`;
    // From its time on a job may have run and be gone.
    if (this.#waiting.has(key) || (this.#written.get(key) ?? 0) > Date.now()) return;
    if (this.#closed.signal.aborted || this.#waiting.size >= this.#parts.capacity) {
      this.#dropped += 1;
      return;
    }
    this.#waiting.set(key, job);
    this.#flushing ??= this.#flush();
  }

  /** Writes what waits, for as long as `giveUp` allows; then takes no more. */
  async close(giveUp: AbortSignal): Promise<void> {
    const abort = (): void => this.#closed.abort();
    if (giveUp.aborted) abort();
    giveUp.addEventListener("abort", abort);
    await this.#flushing;
    abort();
  }

  async #flush(): Promise<void> {
    const { signal } = this.#closed;
    while (this.#waiting.size > 0 && !signal.aborted) {
      try {
        await nextTurn();
        const jobs = await this.#parts.collection(signal);
        await unlessAborted(signal, this.#writeSome(jobs));
        this.#tellOfDropped();
      } catch (error) {
        if (!signal.aborted) {
          this.#parts.logger.debug({ error }, "jobs could not be written to MongoDB; it is tried again");
        }
        await pause(RETRY_PAUSE_MS, undefined, { signal }).catch(() => undefined);
      }
    }
    this.#flushing = null;
  }

  async #writeSome(jobs: JobCollection): Promise<void> {
    const some = this.#waiting.entries().take(AT_ONCE).toArray();
    const operations = some.map(([, job]) => ({
      updateOne: {
        filter: { _id: jobId(job) },
        // Never on one that is there: it may be running.
        update: { $setOnInsert: jobDocument(job, this.#parts.processName) },
        upsert: true,
      },
    }));
    try {
      // One that a failover loses is forgiven like any other.
      await answered(jobs.bulkWrite(operations, { ordered: false, writeConcern: { w: 1 } }));
    } catch (error) {
      if (!isOnlyOfDuplicates(error)) throw error;
    }
    if (this.#written.size + some.length > REMEMBERED) this.#written.clear();
    for (const [key, { nextRunAt }] of some) {
      this.#waiting.delete(key);
      this.#written.set(key, nextRunAt.getTime());
    }
  }

  #tellOfDropped(): void {
    if (this.#dropped === 0) return;
    this.#parts.logger.warn(
      { dropped: this.#dropped },
      "MongoDB was away or slow for so long that jobs were not scheduled; the sweep finds what they were for",
    );
    this.#dropped = 0;
  }
}

/** Two processes that add the same job at once: one of them is told. */
function isOnlyOfDuplicates(error: unknown): boolean {
  if (!(error instanceof MongoBulkWriteError)) return false;
  const failures = [error.writeErrors].flat();
  // A connection that broke is such an error too, without any.
  return failures.length > 0 && failures.every(({ code }) => code === DUPLICATE_KEY);
}

async function unlessAborted(signal: AbortSignal, work: Promise<void>): Promise<void> {
  const { promise: aborted, resolve } = Promise.withResolvers<void>();
  const abort = (): void => resolve();
  signal.addEventListener("abort", abort);
  try {
    await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}
