/**
 * The tracing interface. Its implementation uses OpenTelemetry (`sdk.ts`), which is loaded only if a collector is configured;
 * otherwise `tracing` is undefined.
 */
import type { Counter } from "prom-client";

export interface TracingSettings {
  /** The URL that spans are posted to: OTLP over HTTP, in JSON. */
  readonly url: string;
  /** Sent with each request; may contain secrets. */
  readonly headers: Readonly<Record<string, string>>;
  /** Identifies this process: `service.name` and others. */
  readonly resource: Attributes;
  /** The share of traces to record, from 0 to 1. */
  readonly ratio: number;
}

export type Attributes = Readonly<Record<string, string | number | boolean>>;

/** OpenTelemetry's span kinds. */
export type SpanKind = "internal" | "server" | "client" | "producer" | "consumer";

export interface SpanOptions {
  readonly kind: SpanKind;
  readonly attributes?: Attributes;
}

/** A span of a recorded trace. */
export interface Span {
  /** W3C `traceparent` that makes spans of any process children of this span. */
  readonly traceparent: string;
  /** Runs `work` with this span as the parent of the spans started in it, until the root span ends. */
  run<T>(work: () => T): T;
  set(attributes: Attributes): void;
  rename(name: string): void;
  /** Marks the span as failed. `reason` is an error code or class, never a message, which could contain personal data. */
  fail(reason: string): void;
  end(): void;
}

/** The start methods return null if the trace is not recorded. Disposing exports the queued spans, for at most 3 s. */
export interface Tracing extends AsyncDisposable {
  /** Starts a new trace. `linkedTraceparent`, from the client, becomes a link and does not influence sampling. */
  startTrace(name: string, start: SpanOptions & { linkedTraceparent?: string | undefined }): Span | null;
  /** Starts a child of the active span; null also without an active span. */
  startSpan(name: string, start: SpanOptions): Span | null;
  /** Starts a child of another process's span. Null also if `traceParent` is null or its trace is not recorded. */
  continueTrace(traceParent: string | null, name: string, start: SpanOptions): Span | null;
  /** Returns the ids of the active span as log fields, or null without an active span. */
  currentIds(): { readonly trace_id: string; readonly span_id: string } | null;
  /** Exported spans, and those lost because the queue was full or the export failed. The caller registers this metric. */
  readonly spanCounter: Counter<"outcome">;
  /** Calls `report` when spans are dropped, at most once a minute: with the reason, and the number since the last call. */
  onDrop(report: (reason: string, lost: number) => void): void;
}

/** Runs `work` within `span` and ends the span. Without a span, only runs `work`. */
export async function withSpan<T>(span: Span | null | undefined, work: () => Promise<T>): Promise<T> {
  if (!span) return await work();
  try {
    return await span.run(work);
  } catch (error) {
    span.fail(errorType(error));
    throw error;
  } finally {
    span.end();
  }
}

/** Returns the error's code (of PostgreSQL, Node or AppError), or its name. */
export function errorType(error: unknown): string {
  if (!(error instanceof Error)) return "unknown";
  const { code } = error as { code?: unknown };
  return typeof code === "string" || typeof code === "number" ? String(code) : error.name;
}

/**
 * A parameter of statements that insert events. It becomes the `traceparent` that deliveries of these events continue, or
 * null if the statement is not traced. Services can so pass a constant and need no tracing code.
 */
export class TraceparentParam<Row> {
  /** True for result rows that represent an inserted event. */
  readonly isEvent: (row: Row) => boolean;

  constructor(isEvent: (row: Row) => boolean) {
    this.isEvent = isEvent;
  }

  /** `pg` calls this to convert the value. */
  toPostgres(): null {
    return null;
  }
}
