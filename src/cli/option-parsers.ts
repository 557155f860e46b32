/** Parsers of option values. Commander reports their InvalidArgumentError together with the option's name. */
import { InvalidArgumentError } from "commander";
import { z } from "zod";
import { type Scope, scopes as allScopes } from "../api-keys/api.ts";
import type { RateLimitOverrides } from "../rate-limits/api.ts";
import { dateValue } from "../jobs/api.ts";
import type { PendingPolicy } from "../webhooks/api.ts";

const DAY_MS = 86_400_000;
const dateTimeSchema = z.iso.datetime({ offset: true });

/** Parses `90d` (days from now), a date-time, or a date, which expires at its end (UTC). */
export function parseExpiry(text: string): Date {
  const days = /^(\d{1,5})d$/.exec(text)?.[1];
  if (days !== undefined) return new Date(Date.now() + Number(days) * DAY_MS);
  if (dateValue.safeParse(text).success) return new Date(Date.parse(text) + DAY_MS);
  if (dateTimeSchema.safeParse(text).success) return new Date(text);
  throw new InvalidArgumentError(
    "It must be a date (2027-01-31), a date-time (2027-01-31T12:00:00Z) or a number of days from now (90d).",
  );
}

export function parseScopes(text: string): Scope[] {
  const names = text.split(",").map((name) => name.trim());
  const unknown = names.filter((name) => !(allScopes as readonly string[]).includes(name));
  if (unknown.length === 0) return [...new Set(names)] as Scope[];
  throw new InvalidArgumentError(`Allowed scopes: ${allScopes.join(", ")}, separated by commas.`);
}

export function parseHours(text: string): number {
  const hours = /^\d{1,2}(\.\d+)?$/.test(text) ? Number(text) : Number.NaN;
  if (hours <= 24) return hours;
  throw new InvalidArgumentError("It must be a number of hours from 0 to 24.");
}

const UNIT_MS = { m: 60_000, h: 3_600_000, d: DAY_MS } as const;

/** Parses a date-time, a date (its start, UTC) or a duration before now: `30m`, `12h`, `7d`. */
export function parseSince(text: string): Date {
  const [, amount, unit] = /^(\d{1,5})([mhd])$/.exec(text) ?? [];
  if (amount !== undefined)
    return new Date(Date.now() - Number(amount) * UNIT_MS[unit as keyof typeof UNIT_MS]);
  if (dateValue.safeParse(text).success) return new Date(Date.parse(text));
  if (dateTimeSchema.safeParse(text).success) return new Date(text);
  throw new InvalidArgumentError(
    "It must be a date-time (2027-01-31T12:00:00Z), a date (2027-01-31) or a time ago (30m, 12h, 7d).",
  );
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

export function parsePositiveInteger(text: string): number {
  const count = /^\d{1,9}$/.test(text) ? Number(text) : 0;
  if (count >= 1) return count;
  throw new InvalidArgumentError("It must be a positive integer.");
}

export function parsePort(text: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
  if (port <= 65_535) return port;
  throw new InvalidArgumentError("It must be a port from 0 to 65535; 0 picks a free port.");
}
