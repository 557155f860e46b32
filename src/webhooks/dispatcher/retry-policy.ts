/** What follows an attempt: nothing more, another attempt and when, or the end of its endpoint. */
import { JITTER, type RetrySchedule } from "../../platform/retry-schedule.ts";
import type { Outcome } from "./outcome.ts";

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

const MAX_RETRY_AFTER_MS = DAY_MS;

export interface RetryPolicyInput {
  /** The attempt that has just ended; the first is 1. */
  attempt: number;
  schedule: RetrySchedule;
  /** At least 0 and below 1, as `Math.random` gives it. */
  random: () => number;
  nowMs: number;
}

export type Decision =
  | { kind: "delivered" }
  /** `pauseEndpointMs`: the receiver asked for quiet, and nothing is sent to the endpoint until then. */
  | { kind: "retry"; delayMs: number; pauseEndpointMs?: number }
  | { kind: "dead"; pauseEndpointMs?: number }
  | { kind: "disable"; reason: "gone" };

/**
 * Decides from the outcome alone. Retry-After counts on 429 and 503 only, and only ever lengthens the schedule's delay: a
 * receiver that says `Retry-After: 1` ten times must not use up a day's attempts in ten seconds.
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
  if (scheduledMs === undefined) return { kind: "dead", ...endpointPause };

  const delayMs = Math.round(scheduledMs * (1 - JITTER + 2 * JITTER * random()));
  return { kind: "retry", delayMs: Math.max(delayMs, pauseMs ?? 0), ...endpointPause };
}

/** A `Retry-After` of seconds or an HTTP-date in milliseconds from now, at most 24 h; null where it says nothing to act on. */
export function parseRetryAfter(text: string | null, nowMs: number): number | null {
  const value = text?.trim() ?? "";
  const waitMs = /^\d+$/.test(value) ? Number(value) * SECOND_MS : parseHttpDate(value) - nowMs;
  return waitMs > 0 ? Math.min(waitMs, MAX_RETRY_AFTER_MS) : null;
}

const MONTH = "(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)";
/** RFC 9110, 5.6.7: the form that is written today, and the two older ones that must still be read. */
const HTTP_DATE = new RegExp(`^[A-Z][a-z]{2}, \\d{2} ${MONTH} \\d{4} \\d{2}:\\d{2}:\\d{2} GMT$`);
const RFC_850_DATE = new RegExp(`^[A-Z][a-z]{5,8}, \\d{2}-${MONTH}-\\d{2} \\d{2}:\\d{2}:\\d{2} GMT$`);
const ASCTIME_DATE = new RegExp(`^[A-Z][a-z]{2} ${MONTH} [ \\d]\\d \\d{2}:\\d{2}:\\d{2} \\d{4}$`);

/** Milliseconds since 1970, or NaN. */
function parseHttpDate(text: string): number {
  if (HTTP_DATE.test(text) || RFC_850_DATE.test(text)) return Date.parse(text);
  return ASCTIME_DATE.test(text) ? Date.parse(`${text} GMT`) : Number.NaN;
}
