/** Parses WEBHOOK_RETRY_SCHEDULE, the list of delays before each attempt. */
import { parseDuration, DAY_MS } from "./time.ts";

/** Each delay varies randomly by up to this share, to spread retries out. */
export const JITTER = 0.2;
/** Events are kept for 30 days; a later retry would have nothing to send. */
const MAX_DELAY_MS = 30 * DAY_MS;
const MAX_ATTEMPTS = 50;

/** Delays in milliseconds: the first counts from the event, each other one from the previous attempt. */
export type RetrySchedule = readonly number[];

export const DEFAULT_SCHEDULE_TEXT = "0s,5s,5m,30m,2h,5h,10h,14h,20h,24h";

/** Returns the time from the first attempt to the last with maximum jitter. */
export function longestScheduleMs(schedule: RetrySchedule): number {
  return scheduleMs(schedule) * (1 + JITTER);
}

/** Returns the time from the first attempt to the last without jitter. */
export function scheduleMs(schedule: RetrySchedule): number {
  return schedule.reduce((sum, delayMs) => sum + delayMs, 0);
}

export type ParsedSchedule = { schedule: RetrySchedule } | { problem: string };

/** Parses a list such as `0s,5s,5m,30m,2h`. On error, `problem` is a sentence that ends with an example. */
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
  if (schedule[0] !== 0) return problem("The first delay must be 0s");
  return { schedule };
}

function problem(reason: string): ParsedSchedule {
  return {
    problem: `${reason}. Write the delay before each attempt, the first 0s: ${DEFAULT_SCHEDULE_TEXT}`,
  };
}
