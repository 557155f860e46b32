/** The retry policy: after an attempt, finish the delivery, retry it later, or disable the endpoint. */
import { JITTER, type RetrySchedule } from "../../platform/retry-schedule.ts";
import type { Outcome } from "./outcome.ts";

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

const MAX_RETRY_AFTER_MS = DAY_MS;

export interface RetryPolicyInput {
  /** The attempt that just finished, counted from 1. */
  attempt: number;
  schedule: RetrySchedule;
  /** Returns a number from 0 (inclusive) to 1 (exclusive), like `Math.random`. */
  random: () => number;
  nowMs: number;
}

export type Decision =
  | { kind: "delivered" }
  /** `pauseEndpointMs`: send nothing to the endpoint for this time, because the receiver asked for it. */
  | { kind: "retry"; delayMs: number; pauseEndpointMs?: number }
  | { kind: "failed"; pauseEndpointMs?: number }
  | { kind: "disable"; reason: "gone" };

/**
 * Decides what follows from an outcome. `Retry-After` counts for 429 and 503 only, and can only lengthen the scheduled delay:
 * with `Retry-After: 1`, all attempts would otherwise be used up within seconds.
 */
export function decideNext(
  outcome: Outcome,
  { attempt, schedule, random, nowMs }: RetryPolicyInput,
): Decision {
  if (outcome.class === "delivered") return { kind: "delivered" };
  if (outcome.status === 410) return { kind: "disable", reason: "gone" };

  const honoursRetryAfter = outcome.status === 429 || outcome.status === 503;
  const pauseMs = honoursRetryAfter ? parseRetryAfter(outcome.retryAfter, nowMs) : null;
  const endpointPause = pauseMs === null ? {} : { pauseEndpointMs: pauseMs };
  const scheduledMs = schedule[attempt];
  if (scheduledMs === undefined) return { kind: "failed", ...endpointPause };

  const delayMs = Math.round(scheduledMs * (1 - JITTER + 2 * JITTER * random()));
  return { kind: "retry", delayMs: Math.max(delayMs, pauseMs ?? 0), ...endpointPause };
}

/** Parses `Retry-After` (seconds or HTTP date) to milliseconds from now, at most 24 h; null if invalid or not in the future. */
export function parseRetryAfter(text: string | null, nowMs: number): number | null {
  const value = text?.trim() ?? "";
  const waitMs = /^\d+$/.test(value) ? Number(value) * SECOND_MS : parseHttpDate(value) - nowMs;
  return waitMs > 0 ? Math.min(waitMs, MAX_RETRY_AFTER_MS) : null;
}

const MONTH = "(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)";
/** The date formats of RFC 9110, section 5.6.7: the current one and two obsolete ones. */
const HTTP_DATE = new RegExp(`^[A-Z][a-z]{2}, \\d{2} ${MONTH} \\d{4} \\d{2}:\\d{2}:\\d{2} GMT$`);
const RFC_850_DATE = new RegExp(`^[A-Z][a-z]{5,8}, \\d{2}-${MONTH}-\\d{2} \\d{2}:\\d{2}:\\d{2} GMT$`);
const ASCTIME_DATE = new RegExp(`^[A-Z][a-z]{2} ${MONTH} [ \\d]\\d \\d{2}:\\d{2}:\\d{2} \\d{4}$`);

/** Milliseconds since 1970; NaN if invalid. */
function parseHttpDate(text: string): number {
  if (HTTP_DATE.test(text) || RFC_850_DATE.test(text)) return Date.parse(text);
  return ASCTIME_DATE.test(text) ? Date.parse(`${text} GMT`) : Number.NaN;
}
