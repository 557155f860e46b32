/**
 * Spans of OpenTelemetry's API, also for SQL statements. They do nothing until `sdk.ts` is loaded, which happens only if a collector
 * is configured. A span that is not recorded is null here, so that its caller collects no attributes.
 */
import {
  context,
  isSpanContextValid,
  ROOT_CONTEXT,
  SpanStatusCode,
  trace,
  type Attributes,
  type Context,
  type Span,
  type SpanContext,
  type SpanOptions,
  SpanKind,
} from "@opentelemetry/api";
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

/** Disposing exports the queued spans, for at most 3 s. */
export interface Tracing extends AsyncDisposable {
  /** Exported and dropped spans. The caller registers this metric. */
  readonly spanCounter: Counter<"outcome">;
}

/** Starts the first span of a new trace. Returns null if the trace is not recorded. */
export function startTrace(name: string, options: SpanOptions = {}): Span | null {
  return start(name, options, ROOT_CONTEXT);
}

/**
 * Starts a child of the active span. Returns null without an active span, and if that span has ended: timers and loops can
 * outlive the request that started them.
 */
export function startSpan(name: string, options: SpanOptions = {}): Span | null {
  return trace.getActiveSpan()?.isRecording() === true ? start(name, options, context.active()) : null;
}

/** Starts a child of another process's span. Returns null also without a `traceparent`. */
export function continueTrace(traceparent: string | null, name: string, options: SpanOptions): Span | null {
  const parent = traceparent === null ? null : parseTraceparent(traceparent);
  return parent && start(name, options, trace.setSpanContext(ROOT_CONTEXT, parent));
}

function start(name: string, options: SpanOptions, parent: Context): Span | null {
  const span = trace.getTracer("waymark").startSpan(name, options, parent);
  return span.isRecording() ? span : null;
}

/** Runs `work` with `span` as the parent of the spans started in it. */
export function runInSpan<T>(span: Span, work: () => T): T {
  return context.with(trace.setSpan(ROOT_CONTEXT, span), work);
}

/** Runs `work` in `span` and ends the span. Without a span, only runs `work`. */
export async function withSpan<T>(span: Span | null, work: () => Promise<T>): Promise<T> {
  if (span === null) return await work();
  try {
    return await runInSpan(span, work);
  } catch (error) {
    markFailed(span, errorType(error));
    throw error;
  } finally {
    span.end();
  }
}

/** Marks the span as failed. `reason` is an error code or class, never a message, which could contain personal data. */
export function markFailed(span: Span, reason: string): void {
  span.setAttribute("error.type", reason).setStatus({ code: SpanStatusCode.ERROR });
}

/** Returns the error's code (of PostgreSQL, Node or AppError), or its name. */
export function errorType(error: unknown): string {
  if (!(error instanceof Error)) return "unknown";
  const { code } = error as { code?: unknown };
  return typeof code === "string" || typeof code === "number" ? String(code) : error.name;
}

/** Returns the ids of `span` as log fields; none if it is not recorded or has ended. */
export function traceFields(span = trace.getActiveSpan()): { trace_id?: string; span_id?: string } {
  if (span?.isRecording() !== true) return {};
  const { traceId, spanId } = span.spanContext();
  return { trace_id: traceId, span_id: spanId };
}

/** Returns the W3C `traceparent` that makes spans of any process children of `span`. */
function traceparentOf(span: Span): string {
  const { traceId, spanId } = span.spanContext();
  return `00-${traceId}-${spanId}-01`;
}

const TRACEPARENT_PATTERN = /^00-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})$/;

/** Returns null unless `text` is a valid W3C `traceparent` of version 00. */
export function parseTraceparent(text: string): SpanContext | null {
  const [, traceId = "", spanId = "", flags = ""] = TRACEPARENT_PATTERN.exec(text) ?? [];
  const parent = { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true };
  return isSpanContextValid(parent) ? parent : null;
}

interface TracedQueryable<Statement> {
  query<Row>(statement: Statement): Promise<Row[]>;
  afterCommit?(callback: () => void): void;
}

/**
 * Runs the statement, which inserts events and stores `traceparent` with them, in a span that their deliveries continue, also in
 * another process. By default each row is an event.
 */
export async function insertTraced<Row, Statement>(
  queryable: TracedQueryable<Statement>,
  statement: (traceparent: string | null) => Statement,
  isEvent: (row: Row) => boolean = () => true,
): Promise<Row[]> {
  const span = startSpan("publish job_event", {
    kind: SpanKind.PRODUCER,
    attributes: {
      "messaging.system": "waymark",
      "messaging.operation.type": "send",
      "messaging.operation.name": "publish",
      "messaging.destination.name": "job_event",
    },
  });
  const rows = await queryable.query<Row>(statement(span && traceparentOf(span)));
  const count = span ? rows.filter(isEvent).length : 0;
  // A span that is never ended is not exported.
  if (span === null || count === 0) return rows;
  const end = (): void => span.setAttribute("messaging.batch.message_count", count).end();
  if (queryable.afterCommit) queryable.afterCommit(end);
  else end();
  return rows;
}

/** Runs a statement with this text, in a span if the request or task is traced. */
export function traceStatement<T>(text: string, work: () => Promise<T>): Promise<T> {
  const span = startSpan("SQL", { kind: SpanKind.CLIENT });
  if (span === null) return work();
  const { name, attributes } = describeStatement(text);
  return withSpan(span.updateName(name).setAttributes(attributes), work);
}

const LITERAL = /'(?:[^']|'')*'|(?<![\w"$])\d+(?:\.\d+)?\b/g;
const WRITE =
  /\b(insert(?= into)|(?<!\b(?:for|do) )update(?= \w+ (?:\w+ )?set\b)|delete(?= from))(?: into| from)? (\w+)/;
/** A table after `from` or `join`, not a function call or `is distinct from`. */
const READ = /\b(?<!distinct |epoch )(?:from|join) (?:only )?([a-z_]\w*)\b(?!\s*[(.])/;

/** Names a statement after its first change, such as `UPDATE job`, or else the first table that it reads. Its text has no values. */
export function describeStatement(text: string): { name: string; attributes: Attributes } {
  const masked = text.replaceAll(LITERAL, "?").replaceAll('"', "").replaceAll(/\s+/g, " ").trim();
  const [, verb = "select", written] = WRITE.exec(masked) ?? [];
  const table = written ?? READ.exec(masked)?.[1];
  const operation = verb.toUpperCase();
  const name = table === undefined ? operation : `${operation} ${table}`;
  return {
    name,
    attributes: {
      "db.system.name": "postgresql",
      "db.operation.name": operation,
      "db.collection.name": table,
      "db.query.summary": name,
      "db.query.text": masked,
    },
  };
}
