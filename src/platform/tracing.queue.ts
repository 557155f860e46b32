/** Spans on their way to the collector: few at a time, so many and no more, and none that anybody waits for. */
import { setTimeout as pause } from "node:timers/promises";
import type { ReadableSpan, SpanExporter, SpanProcessor } from "@opentelemetry/sdk-trace";
import { reasonOf, type SpanCounts } from "./tracing.ts";

/** What waits at most: a few MB. Beyond, spans are counted and forgotten. */
const CAPACITY = 4_096;
const BATCH = 512;
const TELL_EVERY_MS = 60_000;
const STOP_WITHIN_MS = 3_000;
const NO_ROOM = "no room";
const SUCCESS = 0;

export class SpanQueue implements SpanProcessor {
  readonly #exporter: SpanExporter;
  readonly #everyMs: number;
  #waiting: ReadableSpan[] = [];
  #timer: NodeJS.Timeout | undefined;
  #sending: Promise<void> | null = null;
  #isClosed = false;
  #exported = 0;
  #dropped = 0;
  #tell: (reason: string, lost: number) => void = () => undefined;
  #toldAtMs = Number.NEGATIVE_INFINITY;
  #toldDropped = 0;

  /** `everyMs`: how long a span may wait for others that go with it. */
  constructor(exporter: SpanExporter, everyMs: number) {
    this.#exporter = exporter;
    this.#everyMs = everyMs;
  }

  counts(): SpanCounts {
    return { exported: this.#exported, dropped: this.#dropped };
  }

  onLoss(tell: (reason: string, lost: number) => void): void {
    this.#tell = tell;
  }

  onStart(): void {
    // A span is of interest once it is over.
  }

  onEnd(span: ReadableSpan): void {
    if (this.#isClosed || this.#waiting.length >= CAPACITY) {
      this.#lose(1, NO_ROOM);
      return;
    }
    this.#waiting.push(span);
    if (this.#sending) return;
    if (this.#waiting.length >= BATCH) this.#run();
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
    const late = pause(STOP_WITHIN_MS, undefined, { signal: isSent.signal }).catch(() => undefined);
    await Promise.race([late, this.forceFlush()]);
    isSent.abort();
    this.#isClosed = true;
    clearTimeout(this.#timer);
    const left = this.#waiting.splice(0).length;
    if (left > 0) this.#lose(left, "stopped");
  }

  #runLater(): void {
    if (this.#waiting.length > 0) this.#timer ??= setTimeout(() => this.#run(), this.#everyMs).unref();
  }

  #run(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#waiting.length === 0) return;
    this.#sending ??= this.#send().finally(() => {
      this.#sending = null;
      // What came since it last looked found it still sending, and set no timer.
      this.#runLater();
    });
  }

  /** One batch after the other, so that a collector that does not answer holds no more than one. */
  async #send(): Promise<void> {
    while (this.#waiting.length > 0 && !this.#isClosed) {
      const batch = this.#waiting.splice(0, BATCH);
      const failure = await this.#export(batch);
      if (failure === null) this.#exported += batch.length;
      else this.#lose(batch.length, failure);
    }
  }

  /** Null: the collector took them; else why not. */
  #export(batch: ReadableSpan[]): Promise<string | null> {
    return new Promise((resolve) => {
      try {
        this.#exporter.export(batch, ({ code, error }) => {
          // By OpenTelemetry's own names: SUCCESS or FAILED.
          resolve((code as number) === SUCCESS ? null : reasonOf(error));
        });
      } catch (error) {
        resolve(reasonOf(error));
      }
    });
  }

  #lose(count: number, reason: string): void {
    this.#dropped += count;
    const now = performance.now();
    if (now - this.#toldAtMs < TELL_EVERY_MS) return;
    this.#toldAtMs = now;
    this.#tell(reason, this.#dropped - this.#toldDropped);
    this.#toldDropped = this.#dropped;
  }
}
