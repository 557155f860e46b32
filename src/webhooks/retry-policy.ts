/** What follows an attempt: nothing more, another attempt and when, or the end of its endpoint. */
import { parseDuration } from "../platform/time.ts";
import type { Outcome } from "./outcome.ts";

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** Each delay varies randomly by up to this share, to spread retries out. */
const JITTER = 0.2;
const MAX_RETRY_AFTER_MS = DAY_MS;
/** Events are kept for 30 days: a retry past that would have nothing to send. */
const MAX_DELAY_MS = 30 * DAY_MS;
const MAX_ATTEMPTS = 50;

/** The delay before each attempt, in milliseconds: the first from the event, the others from the attempt before. */
export type Schedule = readonly number[];

export const DEFAULT_SCHEDULE_TEXT = "0s,5s,5m,30m,2h,5h,10h,14h,20h,24h";

/** The time from the first attempt to the last, with the longest jitter. */
export function longestScheduleMs(schedule: Schedule): number {
  return scheduleMs(schedule) * (1 + JITTER);
}

/** The time from the first attempt to the last, without jitter. */
export function scheduleMs(schedule: Schedule): number {
  return schedule.reduce((sum, delayMs) => sum + delayMs, 0);
}

export interface PolicyInput {
  /** The attempt that has just ended; the first is 1. */
  attempt: number;
  schedule: Schedule;
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
export function decide(outcome: Outcome, { attempt, schedule, random, nowMs }: PolicyInput): Decision {
  if (outcome.class === "delivered") return { kind: "delivered" };
  if (outcome.status === 410) return { kind: "disable", reason: "gone" };

  const asksForQuiet = outcome.status === 429 || outcome.status === 503;
  const pauseMs = asksForQuiet ? parseRetryAfter(outcome.retryAfter, nowMs) : null;
  const pause = pauseMs === null ? {} : { pauseEndpointMs: pauseMs };
  const scheduledMs = schedule[attempt];
  if (scheduledMs === undefined) return { kind: "dead", ...pause };

  const delayMs = Math.round(scheduledMs * (1 - JITTER + 2 * JITTER * random()));
  return { kind: "retry", delayMs: Math.max(delayMs, pauseMs ?? 0), ...pause };
}

/** A `Retry-After` of seconds or an HTTP-date in milliseconds from now, at most 24 h; null where it says nothing to act on. */
export function parseRetryAfter(text: string | null, nowMs: number): number | null {
  const given = text?.trim() ?? "";
  const waitMs = /^\d+$/.test(given) ? Number(given) * SECOND_MS : parseHttpDate(given) - nowMs;
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

export type ParsedSchedule = { schedule: Schedule } | { problem: string };

/** Reads `0s,5s,5m,30m,2h`: one delay for each attempt. The problem is a sentence that ends with an example. */
export function parseSchedule(text: string): ParsedSchedule {
  const parts = text.split(",").map((part) => part.trim());
  if (parts.length > MAX_ATTEMPTS) return problem(`At most ${MAX_ATTEMPTS} attempts, not ${parts.length}`);
  const schedule: number[] = [];
  for (const [index, part] of parts.entries()) {
    const delayMs = parseDuration(part);
    if (delayMs === null)
      return problem(`Delay ${index + 1}, "${part}", is not a whole number and a unit (ms, s, m, h or d)`);
    if (delayMs > MAX_DELAY_MS) return problem(`Delay ${index + 1}, "${part}", is longer than 30 days`);
    schedule.push(delayMs);
  }
  if (schedule[0] !== 0) return problem(`The first attempt is made at once, so the first delay is 0s`);
  return { schedule };
}

function problem(what: string): ParsedSchedule {
  return {
    problem: `${what}. Write the delay before each attempt, the first 0s: ${DEFAULT_SCHEDULE_TEXT}`,
  };
}
