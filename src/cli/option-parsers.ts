/** Parsers of option values. Commander reports their InvalidArgumentError together with the option's name. */
import { InvalidArgumentError } from "commander";
import { z } from "zod";
import { type Scope, scopes as allScopes } from "../api-keys/api.ts";
import type { RateLimitOverrides } from "../rate-limits/api.ts";
import { dateValue } from "../jobs/api.ts";
import type { PendingPolicy } from "../webhooks/api.ts";
import { DAY_MS, parseDuration } from "../core/time.ts";

const dateTimeSchema = z.iso.datetime({ offset: true });

/** Returns the time of a date (its start, UTC) or a date-time; null for any other text. */
function parseTime(text: string): number | null {
  const isTime = dateValue.safeParse(text).success || dateTimeSchema.safeParse(text).success;
  return isTime ? Date.parse(text) : null;
}

/** Parses a duration from now (`90d`), a date-time, or a date, which expires at its end (UTC). */
export function parseExpiry(text: string): Date {
  const duration = parseDuration(text);
  const time = parseTime(text);
  const end = time === null || text.includes("T") ? time : time + DAY_MS;
  const expiry = new Date(duration === null ? (end ?? Number.NaN) : Date.now() + duration);
  if (isInCalendar(expiry)) return expiry;
  throw new InvalidArgumentError(
    "It must be a date (2027-01-31), a date-time (2027-01-31T12:00:00Z) or a time from now (90d).",
  );
}

/** Parses a date-time, a date (its start, UTC) or a duration before now: `30m`, `12h`, `7d`. */
export function parseSince(text: string): Date {
  const duration = parseDuration(text);
  const since = new Date((duration === null ? parseTime(text) : Date.now() - duration) ?? Number.NaN);
  if (isInCalendar(since)) return since;
  throw new InvalidArgumentError(
    "It must be a date-time (2027-01-31T12:00:00Z), a date (2027-01-31) or a time ago (30m, 12h, 7d).",
  );
}

/** False for an invalid date, and for a year that dates without a sign cannot have. */
function isInCalendar(date: Date): boolean {
  const year = date.getUTCFullYear();
  return year >= 1970 && year <= 9999;
}

export function parseScopes(text: string): Scope[] {
  const names = parseCommaList(text);
  const unknown = names.filter((name) => !(allScopes as readonly string[]).includes(name));
  if (names.length > 0 && unknown.length === 0) return [...new Set(names)] as Scope[];
  throw new InvalidArgumentError(`Allowed scopes: ${allScopes.join(", ")}, separated by commas.`);
}

/** Parses `send`, `discard` or `since:` followed by a value that `parseSince` accepts. */
export function parsePendingPolicy(text: string): PendingPolicy {
  if (text === "send" || text === "discard") return text;
  if (text.startsWith("since:")) return { since: parseSince(text.slice(6)) };
  throw new InvalidArgumentError("It must be send, discard or since:2027-01-31T12:00:00Z.");
}

/** Parses `Name: value` and adds it to the headers parsed before. */
export function parseHeader(text: string, previous: Record<string, string> = {}): Record<string, string> {
  const colon = text.indexOf(":");
  if (colon <= 0)
    throw new InvalidArgumentError('It must have the form "Name: value", for example "X-Api-Key: abc".');
  return { ...previous, [text.slice(0, colon).trim()]: text.slice(colon + 1).trim() };
}

/** Splits at commas, trims, and drops empty names. */
export function parseCommaList(text: string): string[] {
  return text
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "");
}

/** Parses `read=10/20`, `read=none` or `read=default` and adds it to the limits parsed before. `default` becomes undefined. */
export function parseRateLimit(text: string, previous: RateLimitOverrides = {}): RateLimitOverrides {
  const [, limitClass, perSecond, burst] =
    /^(read|write|batch)=(?:none|default|(\d{1,6}(?:\.\d+)?)\/(\d{1,6}))$/.exec(text) ?? [];
  const isValid = perSecond === undefined || (Number(perSecond) > 0 && Number(burst) >= 1);
  if (limitClass === undefined || !isValid)
    throw new InvalidArgumentError("It must have the form read=10/20, read=none or read=default.");
  const limit = perSecond === undefined ? null : { perSecond: Number(perSecond), burst: Number(burst) };
  return { ...previous, [limitClass]: text.endsWith("=default") ? undefined : limit };
}

/** Returns a parser of numbers like `pattern` from `min` to `max`. `what` completes the error "It must be …". */
function numberParser(pattern: RegExp, [min, max]: readonly [number, number], what: string) {
  return (text: string): number => {
    const number = pattern.test(text) ? Number(text) : Number.NaN;
    if (number >= min && number <= max) return number;
    throw new InvalidArgumentError(`It must be ${what}.`);
  };
}

export const parseHours = numberParser(/^\d{1,2}(\.\d+)?$/, [0, 24], "a number of hours from 0 to 24");
export const parsePositiveInteger = numberParser(/^\d{1,9}$/, [1, 999_999_999], "a positive integer");
