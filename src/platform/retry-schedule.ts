/** A retry schedule: the delay before each attempt, as operators write it and as code uses it. */
import { parseDuration } from "./time.ts";

const DAY_MS = 24 * 60 * 60 * 1_000;

/** Each delay varies randomly by up to this share, to spread retries out. */
export const JITTER = 0.2;
/** Events are kept for 30 days: a retry past that would have nothing to send. */
const MAX_DELAY_MS = 30 * DAY_MS;
const MAX_ATTEMPTS = 50;

/** The delay before each attempt, in milliseconds: the first from the event, the others from the attempt before. */
export type RetrySchedule = readonly number[];

export const DEFAULT_SCHEDULE_TEXT = "0s,5s,5m,30m,2h,5h,10h,14h,20h,24h";

/** The time from the first attempt to the last, with the longest jitter. */
export function longestScheduleMs(schedule: RetrySchedule): number {
  return scheduleMs(schedule) * (1 + JITTER);
}

/** The time from the first attempt to the last, without jitter. */
export function scheduleMs(schedule: RetrySchedule): number {
  return schedule.reduce((sum, delayMs) => sum + delayMs, 0);
}

export type ParsedSchedule = { schedule: RetrySchedule } | { problem: string };

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
