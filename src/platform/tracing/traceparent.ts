/** W3C `traceparent`: trace id, parent span id, and flags. */

export interface ParsedTraceparent {
  readonly traceId: string;
  readonly spanId: string;
  readonly traceFlags: number;
}

const TRACEPARENT_PATTERN = /^00-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})$/;
const ALL_ZEROS = /^0+$/;

/** Returns null unless `text` is a valid `traceparent` of version 00. Anyone can send this header, so parsing is strict. */
export function parseTraceparent(text: string): ParsedTraceparent | null {
  const [, traceId = "0", spanId = "0", flags = "00"] = TRACEPARENT_PATTERN.exec(text) ?? [];
  if (ALL_ZEROS.test(traceId) || ALL_ZEROS.test(spanId)) return null;
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16) };
}
