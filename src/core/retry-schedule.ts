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

/** Returns the time from the first attempt to the last, with the longest jitter. */
export function longestScheduleMs(schedule: RetrySchedule): number {
  return schedule.reduce((sum, delayMs) => sum + delayMs, 0) * (1 + JITTER);
}

/** Parses a list such as `0s,5s,5m,30m,2h`. Returns null if a delay is invalid, or the first is not 0s. */
export function parseSchedule(text: string): RetrySchedule | null {
  const delays = text.split(",").map((part) => parseDuration(part.trim()));
  const isValid = delays.every((delayMs) => delayMs !== null && delayMs <= MAX_DELAY_MS);
  return isValid && delays[0] === 0 && delays.length <= MAX_ATTEMPTS ? (delays as number[]) : null;
}
