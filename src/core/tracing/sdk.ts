/** Implements tracing with OpenTelemetry's SDK, without automatic instrumentation and without global state. */
import { AsyncLocalStorage } from "node:async_hooks";
import {
  ROOT_CONTEXT,
  SpanKind as OtelKind,
  SpanStatusCode,
  trace,
  TraceFlags,
  type Context,
  type Span as OtelSpan,
  type SpanContext,
  type Tracer,
} from "@opentelemetry/api";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { defaultResource, resourceFromAttributes } from "@opentelemetry/resources";
import { ParentBasedSampler, TraceIdRatioBasedSampler, TracerProvider } from "@opentelemetry/sdk-trace";
import { SpanExport } from "./span-export.ts";
import type { Attributes, Span, SpanKind, SpanOptions, Tracing, TracingSettings } from "./tracing.ts";

const otelKinds: Readonly<Record<SpanKind, OtelKind>> = {
  internal: OtelKind.INTERNAL,
  server: OtelKind.SERVER,
  client: OtelKind.CLIENT,
  producer: OtelKind.PRODUCER,
  consumer: OtelKind.CONSUMER,
};

/** For one export of spans, including its retries. */
const EXPORT_TIMEOUT_MS = 5_000;
const BATCH_DELAY_MS = 1_000;
/** A safety limit; our attributes are shorter. */
const MAX_ATTRIBUTE_LENGTH = 4_096;

/** Exports spans to the collector at `url`. An unreachable collector is not an error; its spans are dropped. */
export function openTracing(
  { url, headers, resource, ratio }: TracingSettings,
  { batchDelayMs = BATCH_DELAY_MS }: { batchDelayMs?: number } = {},
): Tracing {
  const exporter = new OTLPTraceExporter({
    url,
    headers: { ...headers },
    timeoutMillis: EXPORT_TIMEOUT_MS,
  });
  const spanExport = new SpanExport(exporter, { batchDelayMs, exportTimeoutMs: EXPORT_TIMEOUT_MS });
  const provider = new TracerProvider({
    resource: defaultResource().merge(resourceFromAttributes(resource)),
    sampler: new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(ratio) }),
    spanLimits: { attributeValueLengthLimit: MAX_ATTRIBUTE_LENGTH },
    spanProcessors: [spanExport.processor],
  });
  return new OtelTracing(provider.getTracer("waymark"), spanExport);
}

class OtelTracing implements Tracing {
  readonly #tracer: Tracer;
  readonly #export: SpanExport;
  readonly #active = new AsyncLocalStorage<RecordedSpan>();

  constructor(tracer: Tracer, spanExport: SpanExport) {
    this.#tracer = tracer;
    this.#export = spanExport;
  }

  startTrace(
    name: string,
    { linkedTraceparent, ...start }: SpanOptions & { linkedTraceparent?: string | undefined },
  ): Span | null {
    const span = this.#start(name, start, ROOT_CONTEXT);
    const linked = span && linkedTraceparent !== undefined ? parseTraceparent(linkedTraceparent) : null;
    if (linked) span?.link({ ...linked, isRemote: true });
    return span;
  }

  startSpan(name: string, start: SpanOptions): Span | null {
    const parent = this.#activeSpan();
    return parent && this.#start(name, start, parent.context, parent.root);
  }

  continueTrace(traceParent: string | null, name: string, start: SpanOptions): Span | null {
    const parent = traceParent === null ? null : parseTraceparent(traceParent);
    if (!parent || (parent.traceFlags & TraceFlags.SAMPLED) === 0) return null;
    return this.#start(name, start, trace.setSpanContext(ROOT_CONTEXT, { ...parent, isRemote: true }));
  }

  currentIds(): { trace_id: string; span_id: string } | null {
    const span = this.#activeSpan();
    return span && { trace_id: span.ids.traceId, span_id: span.ids.spanId };
  }

  get spanCounter(): SpanExport["counter"] {
    return this.#export.counter;
  }

  onDrop(report: (reason: string, lost: number) => void): void {
    this.#export.onDrop = report;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#export.shutdown();
  }

  /** Timers and loops started by a request can outlive it; spans after the root's end do not belong to its trace. */
  #activeSpan(): RecordedSpan | null {
    const span = this.#active.getStore();
    return span === undefined || span.root.isEnded ? null : span;
  }

  #start(name: string, start: SpanOptions, context: Context, root?: RecordedSpan): RecordedSpan | null {
    const span = this.#tracer.startSpan(name, { kind: otelKinds[start.kind] }, context);
    if (!span.isRecording()) return null;
    if (start.attributes) span.setAttributes(start.attributes);
    return new RecordedSpan(span, this.#active, root);
  }
}

class RecordedSpan implements Span {
  readonly #span: OtelSpan;
  readonly #active: AsyncLocalStorage<RecordedSpan>;
  /** The first span of this trace in this process: a request, delivery or task. */
  readonly root: RecordedSpan;
  readonly context: Context;
  isEnded = false;

  constructor(span: OtelSpan, active: AsyncLocalStorage<RecordedSpan>, root: RecordedSpan | undefined) {
    this.#span = span;
    this.#active = active;
    this.root = root ?? this;
    this.context = trace.setSpan(ROOT_CONTEXT, span);
  }

  get ids(): SpanContext {
    return this.#span.spanContext();
  }

  get traceparent(): string {
    const { traceId, spanId } = this.ids;
    return `00-${traceId}-${spanId}-01`;
  }

  run<T>(work: () => T): T {
    return this.#active.run(this, work);
  }

  link(context: SpanContext): void {
    this.#span.addLink({ context });
  }

  set(attributes: Attributes): void {
    this.#span.setAttributes(attributes);
  }

  rename(name: string): void {
    this.#span.updateName(name);
  }

  fail(reason: string): void {
    this.#span.setAttribute("error.type", reason);
    this.#span.setStatus({ code: SpanStatusCode.ERROR });
  }

  end(): void {
    this.isEnded = true;
    this.#span.end();
  }
}

/** W3C Trace Context: trace id, parent span id and flags. The propagator of `@opentelemetry/core` also takes other versions. */
const TRACEPARENT_PATTERN = /^00-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})$/;
const ALL_ZEROS = /^0+$/;

/** Returns null unless `text` is a valid `traceparent` of version 00. Anyone can send this header, so parsing is strict. */
export function parseTraceparent(text: string): SpanContext | null {
  const [, traceId = "0", spanId = "0", flags = "00"] = TRACEPARENT_PATTERN.exec(text) ?? [];
  if (ALL_ZEROS.test(traceId) || ALL_ZEROS.test(spanId)) return null;
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16) };
}
