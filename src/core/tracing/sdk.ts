/** Records spans with OpenTelemetry's SDK, and exports them in batches. */
import { AsyncLocalStorage } from "node:async_hooks";
import {
  context,
  createNoopMeter,
  ROOT_CONTEXT,
  trace,
  type Context,
  type ContextManager,
  type MeterProvider,
} from "@opentelemetry/api";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { defaultResource, resourceFromAttributes } from "@opentelemetry/resources";
import {
  BatchSpanProcessor,
  ParentBasedSampler,
  StackContextManager,
  TraceIdRatioBasedSampler,
  TracerProvider,
  type SpanExporter,
} from "@opentelemetry/sdk-trace";
import { Counter } from "prom-client";
import type { Logger } from "../logger.ts";
import { MINUTE_MS } from "../time.ts";
import { errorType, type Tracing, type TracingSettings } from "./tracing.ts";

/** For one export of spans, including its retries, and for the exports of a stop. */
const EXPORT_TIMEOUT_MS = 3_000;
const BATCH_DELAY_MS = 1_000;
/** A few MB. Further spans are counted and dropped. */
const MAX_QUEUED_SPANS = 4_096;
/** A safety limit; our attributes are shorter. */
const MAX_ATTRIBUTE_LENGTH = 4_096;
/** OpenTelemetry's ExportResultCode.SUCCESS. */
const EXPORT_SUCCESS = 0;

/**
 * Exports the spans of this process to the collector at `url`. An unreachable collector is not an error; its spans are
 * dropped.
 */
export function openTracing(
  { url, headers, resource, ratio }: TracingSettings,
  logger: Logger,
  batchDelayMs = BATCH_DELAY_MS,
): Tracing {
  const spanCounter = createSpanCounter();
  const drop = createDropReport(spanCounter, logger);
  const exporter = new OTLPTraceExporter({ url, headers: { ...headers }, timeoutMillis: EXPORT_TIMEOUT_MS });
  const countingExporter: SpanExporter = {
    export: (spans, done) =>
      exporter.export(spans, (result) => {
        if ((result.code as number) === EXPORT_SUCCESS)
          spanCounter.inc({ outcome: "exported" }, spans.length);
        else drop(spans.length, errorType(result.error));
        done(result);
      }),
    shutdown: () => exporter.shutdown(),
  };
  const provider = new TracerProvider({
    resource: defaultResource().merge(resourceFromAttributes(resource)),
    sampler: new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(ratio) }),
    spanLimits: { attributeValueLengthLimit: MAX_ATTRIBUTE_LENGTH },
    spanProcessors: [
      new BatchSpanProcessor({
        exporter: countingExporter,
        maxQueueSize: MAX_QUEUED_SPANS,
        scheduledDelayMillis: batchDelayMs,
        exportTimeoutMillis: EXPORT_TIMEOUT_MS,
        selfObsMeterProvider: createDropMeter((count) => drop(count, "queue full")),
      }),
    ],
  });
  context.setGlobalContextManager(createContextManager());
  trace.setGlobalTracerProvider(provider);
  return {
    spanCounter,
    async [Symbol.asyncDispose]() {
      trace.disable();
      context.disable();
      await provider.shutdown().catch(() => undefined);
    },
  };
}

function createSpanCounter(): Counter<"outcome"> {
  const counter = new Counter({
    name: "waymark_trace_spans_total",
    help: "Spans accepted by the collector (exported), and spans that were lost (dropped)",
    labelNames: ["outcome"] as const,
    registers: [],
  });
  for (const outcome of ["exported", "dropped"]) counter.inc({ outcome }, 0);
  return counter;
}

/** Returns a function that counts dropped spans, and logs their number at most once a minute. */
function createDropReport(counter: Counter<"outcome">, logger: Logger) {
  let reportedAtMs = Number.NEGATIVE_INFINITY;
  let lost = 0;
  return (count: number, reason: string): void => {
    counter.inc({ outcome: "dropped" }, count);
    lost += count;
    if (performance.now() - reportedAtMs < MINUTE_MS) return;
    logger.warn({ reason, lost }, "spans were dropped before they reached the trace collector");
    reportedAtMs = performance.now();
    lost = 0;
  };
}

/** The processor reports spans that do not fit into its queue only as a metric. */
function createDropMeter(onDrop: (count: number) => void): MeterProvider {
  const add = (count: number, attributes: Record<string, unknown> = {}): void => {
    if (attributes["error.type"] === "queue_full") onDrop(count);
  };
  const meter = Object.assign(createNoopMeter(), { createCounter: () => ({ add }) });
  return { getMeter: () => meter };
}

/** OpenTelemetry's `StackContextManager` loses the context in asynchronous code. */
function createContextManager(): ContextManager {
  const storage = new AsyncLocalStorage<Context>();
  return Object.assign(new StackContextManager(), {
    active: () => storage.getStore() ?? ROOT_CONTEXT,
    with: <A extends unknown[], T>(active: Context, work: (...args: A) => T, _this: unknown, ...args: A) =>
      storage.run(active, work, ...args),
  });
}
