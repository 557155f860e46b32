/** W3C's `traceparent`: which trace, below which of its spans, and whether it is kept. */

export interface TraceParent {
  readonly traceId: string;
  readonly spanId: string;
  readonly traceFlags: number;
}

const SHAPE = /^00-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})$/;
const NOTHING = /^0+$/;

/** Null for whatever is not exactly that, in version 00: it may come from anybody. */
export function parseTraceParent(text: string): TraceParent | null {
  const [, traceId = "0", spanId = "0", flags = "00"] = SHAPE.exec(text) ?? [];
  if (NOTHING.test(traceId) || NOTHING.test(spanId)) return null;
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16) };
}
