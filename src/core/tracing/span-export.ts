/** Exports spans in batches with OpenTelemetry's processor, and counts those that were exported or dropped. */
import { createNoopMeter, type MeterProvider } from "@opentelemetry/api";
import { BatchSpanProcessor, type SpanExporter } from "@opentelemetry/sdk-trace";
import { Counter } from "prom-client";
import { withTimeout } from "../concurrency/timeout.ts";
import { MINUTE_MS } from "../time.ts";
import { errorType } from "./tracing.ts";

/** A few MB. Further spans are counted and dropped. */
const MAX_QUEUED_SPANS = 4_096;
const REPORT_INTERVAL_MS = MINUTE_MS;
const SHUTDOWN_TIMEOUT_MS = 3_000;
const EXPORT_SUCCESS = 0;

export interface SpanExportOptions {
  /** How long a span may wait for its batch to fill. */
  batchDelayMs: number;
  /** For one batch, including its retries. */
  exportTimeoutMs: number;
}

export class SpanExport {
  readonly counter = new Counter({
    name: "waymark_trace_spans_total",
    help: "Spans accepted by the collector (exported), and spans that were lost (dropped)",
    labelNames: ["outcome"] as const,
    registers: [],
  });
  readonly processor: BatchSpanProcessor;
  onDrop: (reason: string, lost: number) => void = () => undefined;
  #reportedAtMs = Number.NEGATIVE_INFINITY;
  #unreported = 0;

  constructor(exporter: SpanExporter, { batchDelayMs, exportTimeoutMs }: SpanExportOptions) {
    for (const outcome of ["exported", "dropped"]) this.counter.inc({ outcome }, 0);
    this.processor = new BatchSpanProcessor({
      exporter: {
        export: (spans, done) =>
          exporter.export(spans, (result) => {
            // OpenTelemetry's ExportResultCode: SUCCESS is 0, FAILED is 1.
            if ((result.code as number) === EXPORT_SUCCESS)
              this.counter.inc({ outcome: "exported" }, spans.length);
            else this.#drop(spans.length, errorType(result.error));
            done(result);
          }),
        shutdown: () => exporter.shutdown(),
      },
      maxQueueSize: MAX_QUEUED_SPANS,
      scheduledDelayMillis: batchDelayMs,
      exportTimeoutMillis: exportTimeoutMs,
      selfObsMeterProvider: createDropMeter((count) => this.#drop(count, "queue full")),
    });
  }

  /** Exports the queued spans for at most 3 s. */
  async shutdown(): Promise<void> {
    await withTimeout(this.processor.shutdown(), SHUTDOWN_TIMEOUT_MS).catch(() => undefined);
  }

  #drop(count: number, reason: string): void {
    this.counter.inc({ outcome: "dropped" }, count);
    this.#unreported += count;
    const nowMs = performance.now();
    if (nowMs - this.#reportedAtMs < REPORT_INTERVAL_MS) return;
    this.onDrop(reason, this.#unreported);
    this.#reportedAtMs = nowMs;
    this.#unreported = 0;
  }
}

/** The processor reports spans that do not fit into its queue only as a metric. */
function createDropMeter(onDrop: (count: number) => void): MeterProvider {
  const counter = {
    add(count: number, attributes: Record<string, unknown> = {}) {
      if (attributes["error.type"] === "queue_full") onDrop(count);
    },
  };
  const meter = Object.assign(createNoopMeter(), { createCounter: () => counter });
  return { getMeter: () => meter };
}
