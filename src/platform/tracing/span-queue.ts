/** A bounded queue that exports spans in batches, in the background. */
import { setTimeout as pause } from "node:timers/promises";
import type { ReadableSpan, SpanExporter, SpanProcessor } from "@opentelemetry/sdk-trace";
import { errorType, type SpanCounts } from "./tracing.ts";

/** A few MB. Further spans are counted and dropped. */
const MAX_QUEUED_SPANS = 4_096;
const BATCH_SIZE = 512;
const REPORT_INTERVAL_MS = 60_000;
const SHUTDOWN_TIMEOUT_MS = 3_000;
const QUEUE_FULL_REASON = "queue full";
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

  /** `batchDelayMs`: how long a span may wait for its batch to fill. */
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
    // Only ended spans are exported.
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

  /** Resolves once all queued spans are exported or dropped. */
  async forceFlush(): Promise<void> {
    this.#run();
    await this.#sending;
  }

  /** Exports the queued spans for at most 3 s, then drops the rest. */
  async shutdown(): Promise<void> {
    const flushed = new AbortController();
    const timeout = pause(SHUTDOWN_TIMEOUT_MS, undefined, { signal: flushed.signal }).catch(() => undefined);
    await Promise.race([timeout, this.forceFlush()]);
    flushed.abort();
    this.#isClosed = true;
    clearTimeout(this.#timer);
    const remaining = this.#queue.splice(0).length;
    if (remaining > 0) this.#drop(remaining, "stopped");
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
      // Spans that ended during the last export have set no timer.
      this.#runLater();
    });
  }

  /** Exports one batch at a time, so that an unresponsive collector holds only one in memory. */
  async #send(): Promise<void> {
    while (this.#queue.length > 0 && !this.#isClosed) {
      const batch = this.#queue.splice(0, BATCH_SIZE);
      const failure = await this.#export(batch);
      if (failure === null) this.#exported += batch.length;
      else this.#drop(batch.length, failure);
    }
  }

  /** Resolves to null if the collector accepted the batch, otherwise to the error's type. */
  #export(batch: ReadableSpan[]): Promise<string | null> {
    return new Promise((resolve) => {
      try {
        this.#exporter.export(batch, ({ code, error }) => {
          // OpenTelemetry's ExportResultCode: SUCCESS is 0, FAILED is 1.
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
