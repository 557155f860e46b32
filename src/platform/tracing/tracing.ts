/**
 * Traces, as the rest of the program knows them: spans around what is done, one below the other. What makes and sends them is
 * OpenTelemetry (`tracing.sdk.ts`), which is loaded only where a collector is named. Elsewhere there is no `Tracing`, and
 * whoever would begin a span compares with undefined.
 */

export interface TracingSettings {
  /** Where spans are posted: OTLP over HTTP, in JSON. */
  readonly url: string;
  /** Go along with each post, and may be secret. */
  readonly headers: Readonly<Record<string, string>>;
  /** Who we are: `service.name` and the like. */
  readonly resource: Attributes;
  /** Which part of all traces is kept, from 0 to 1. */
  readonly ratio: number;
}

export type Attributes = Readonly<Record<string, string | number | boolean>>;

/** OpenTelemetry's kinds: `server` answers, `client` asks, `producer` tells and `consumer` is told. */
export type SpanKind = "internal" | "server" | "client" | "producer" | "consumer";

export interface SpanOptions {
  readonly kind: SpanKind;
  readonly attributes?: Attributes;
}

/** Something that is being done, in a trace that is kept. */
export interface Span {
  /** As W3C's `traceparent` has it: whoever goes on with this, in whichever process, is below this span. */
  readonly traceparent: string;
  /** Runs `work` so that what begins in it, until it ends or this does, is below this span. */
  run<T>(work: () => T): T;
  set(attributes: Attributes): void;
  rename(name: string): void;
  /** `reason` is a code or a class: never a message, which could quote somebody's data. */
  fail(reason: string): void;
  end(): void;
}

/** What is named in the log with each line that belongs to a trace. */
export interface TraceIds {
  readonly trace_id: string;
  readonly span_id: string;
}

export interface SpanCounts {
  readonly exported: number;
  /** There was no room for them, or the collector did not take them. */
  readonly dropped: number;
}

/** Each `begin` answers null where the trace is not kept: then there is nothing to do. Disposing sends what is left, or gives up. */
export interface Tracing extends AsyncDisposable {
  /** A trace of its own. `linkedTraceparent` is a stranger's `traceparent`: it is named beside the span, and decides nothing. */
  startTrace(name: string, start: SpanOptions & { linkedTraceparent?: string | undefined }): Span | null;
  /** Below what is being done here; null also where nothing is. */
  startSpan(name: string, start: SpanOptions): Span | null;
  /** Below a span of another process, which kept its `traceParent`; null: it kept none. */
  continueTrace(traceParent: string | null, name: string, start: SpanOptions): Span | null;
  /** Of what is being done here; null: nothing is, or its trace is not kept. */
  currentIds(): TraceIds | null;
  counts(): SpanCounts;
  /** `tell` is called when spans are lost, at most once a minute: with why, and how many since the last time. */
  onDrop(tell: (reason: string, lost: number) => void): void;
}

/** Does `work` within `span`, and ends it; without one it is just done. */
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

/** An error's code (of PostgreSQL, of Node, of ours), or else what kind of error it is. */
export function errorType(error: unknown): string {
  if (!(error instanceof Error)) return "unknown";
  const { code } = error as { code?: unknown };
  return typeof code === "string" || typeof code === "number" ? String(code) : error.name;
}

/**
 * A value of a statement that records events: where the statement is traced, the `traceparent` below which they are
 * delivered; else null. A constant of the statement, so that whoever changes jobs knows nothing of traces.
 */
export class TraceparentParam<Row> {
  /** Which rows of the answer tell of an event that was recorded. */
  readonly isEvent: (row: Row) => boolean;

  constructor(isEvent: (row: Row) => boolean) {
    this.isEvent = isEvent;
  }

  /** `pg` asks a value for what it is to PostgreSQL. */
  toPostgres(): null {
    return null;
  }
}
