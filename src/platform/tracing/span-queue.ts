/** Spans on their way to the collector: few at a time, so many and no more, and none that anybody waits for. */
import { setTimeout as pause } from "node:timers/promises";
import type { ReadableSpan, SpanExporter, SpanProcessor } from "@opentelemetry/sdk-trace";
import { errorType, type SpanCounts } from "./tracing.ts";

/** What waits at most: a few MB. Beyond, spans are counted and forgotten. */
const MAX_QUEUED_SPANS = 4_096;
const BATCH_SIZE = 512;
const REPORT_INTERVAL_MS = 60_000;
const SHUTDOWN_TIMEOUT_MS = 3_000;
const QUEUE_FULL_REASON = "no room";
const EXPORT_SUCCESS = 0;

export class SpanQueue implements SpanProcessor {
  readonly #exporter: SpanExporter;
  readonly #batchDelayMs: number;
  #queue: ReadableSpan[] = [];
  #timer: NodeJS.Timeout | undefined;
  #sending: Promise<void> | null = null;
  #isClosed = false;
  #exported = 0;
  #dropped = 0;
  #report: (reason: string, lost: number) => void = () => undefined;
  #reportedAtMs = Number.NEGATIVE_INFINITY;
  #reportedDropped = 0;

  /** `everyMs`: how long a span may wait for others that go with it. */
  constructor(exporter: SpanExporter, batchDelayMs: number) {
    this.#exporter = exporter;
    this.#batchDelayMs = batchDelayMs;
  }

  counts(): SpanCounts {
    return { exported: this.#exported, dropped: this.#dropped };
  }

  onDrop(report: (reason: string, lost: number) => void): void {
    this.#report = report;
  }

  onStart(): void {
    // A span is of interest once it is over.
  }

  onEnd(span: ReadableSpan): void {
    if (this.#isClosed || this.#queue.length >= MAX_QUEUED_SPANS) {
      this.#drop(1, QUEUE_FULL_REASON);
      return;
    }
    this.#queue.push(span);
    if (this.#sending) return;
    if (this.#queue.length >= BATCH_SIZE) this.#run();
    else this.#runLater();
  }

  /** Resolves once everything that waits now was taken, or lost. */
  async forceFlush(): Promise<void> {
    this.#run();
    await this.#sending;
  }

  /** Sends what is left, for a few seconds at most. */
  async shutdown(): Promise<void> {
    const isSent = new AbortController();
    const late = pause(SHUTDOWN_TIMEOUT_MS, undefined, { signal: isSent.signal }).catch(() => undefined);
    await Promise.race([late, this.forceFlush()]);
    isSent.abort();
    this.#isClosed = true;
    clearTimeout(this.#timer);
    const left = this.#queue.splice(0).length;
    if (left > 0) this.#drop(left, "stopped");
  }

  #runLater(): void {
    if (this.#queue.length > 0) this.#timer ??= setTimeout(() => this.#run(), this.#batchDelayMs).unref();
  }

  #run(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#queue.length === 0) return;
    this.#sending ??= this.#send().finally(() => {
      this.#sending = null;
      // What came since it last looked found it still sending, and set no timer.
      this.#runLater();
    });
  }

  /** One batch after the other, so that a collector that does not answer holds no more than one. */
  async #send(): Promise<void> {
    while (this.#queue.length > 0 && !this.#isClosed) {
      const batch = this.#queue.splice(0, BATCH_SIZE);
      const failure = await this.#export(batch);
      if (failure === null) this.#exported += batch.length;
      else this.#drop(batch.length, failure);
    }
  }

  /** Null: the collector took them; else why not. */
  #export(batch: ReadableSpan[]): Promise<string | null> {
    return new Promise((resolve) => {
      try {
        this.#exporter.export(batch, ({ code, error }) => {
          // By OpenTelemetry's own names: SUCCESS or FAILED.
          resolve((code as number) === EXPORT_SUCCESS ? null : errorType(error));
        });
      } catch (error) {
        resolve(errorType(error));
      }
    });
  }

  #drop(count: number, reason: string): void {
    this.#dropped += count;
    const now = performance.now();
    if (now - this.#reportedAtMs < REPORT_INTERVAL_MS) return;
    this.#reportedAtMs = now;
    this.#report(reason, this.#dropped - this.#reportedDropped);
    this.#reportedDropped = this.#dropped;
  }
}
