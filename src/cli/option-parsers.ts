/** Options that are more than text. Commander tells of an InvalidArgumentError with the option's name. */
import { InvalidArgumentError } from "commander";
import { z } from "zod";
import { type Scope, scopes as allScopes } from "../api-keys/api.ts";
import type { RateLimitOverrides } from "../rate-limits/api.ts";
import { dateValue } from "../jobs/api.ts";
import type { PendingPolicy } from "../webhooks/api.ts";

const DAY_MS = 86_400_000;
const dateTimeSchema = z.iso.datetime({ offset: true });

/** `90d`, an instant, or a day, at whose end (UTC) the key expires. */
export function parseExpiry(text: string): Date {
  const days = /^(\d{1,5})d$/.exec(text)?.[1];
  if (days !== undefined) return new Date(Date.now() + Number(days) * DAY_MS);
  if (dateValue.safeParse(text).success) return new Date(Date.parse(text) + DAY_MS);
  if (dateTimeSchema.safeParse(text).success) return new Date(text);
  throw new InvalidArgumentError(
    "It must be a day (2027-01-31), an instant (2027-01-31T12:00:00Z) or days from now (90d).",
  );
}

export function parseScopes(text: string): Scope[] {
  const names = text.split(",").map((name) => name.trim());
  const unknown = names.filter((name) => !(allScopes as readonly string[]).includes(name));
  if (unknown.length === 0) return [...new Set(names)] as Scope[];
  throw new InvalidArgumentError(`Scopes are ${allScopes.join(", ")}, set apart by commas.`);
}

export function parseHours(text: string): number {
  const hours = /^\d{1,2}(\.\d+)?$/.test(text) ? Number(text) : Number.NaN;
  if (hours <= 24) return hours;
  throw new InvalidArgumentError("It must be a number of hours from 0 to 24.");
}

const UNIT_MS = { m: 60_000, h: 3_600_000, d: DAY_MS } as const;

/** An instant, a day (its beginning, UTC), or so long ago: `30m`, `12h`, `7d`. */
export function parseSince(text: string): Date {
  const [, amount, unit] = /^(\d{1,5})([mhd])$/.exec(text) ?? [];
  if (amount !== undefined)
    return new Date(Date.now() - Number(amount) * UNIT_MS[unit as keyof typeof UNIT_MS]);
  if (dateValue.safeParse(text).success) return new Date(Date.parse(text));
  if (dateTimeSchema.safeParse(text).success) return new Date(text);
  throw new InvalidArgumentError(
    "It must be an instant (2027-01-31T12:00:00Z), a day (2027-01-31) or so long ago (30m, 12h, 7d).",
  );
}

/** What becomes of what waited: `send`, `discard`, or `since:` and what `sinceValue` takes. */
export function parsePendingPolicy(text: string): PendingPolicy {
  if (text === "send" || text === "discard") return text;
  if (text.startsWith("since:")) return { since: parseSince(text.slice(6)) };
  throw new InvalidArgumentError("It must be send, discard or since:2027-01-31T12:00:00Z.");
}

/** `Name: value`, added to the headers before it. */
export function parseHeader(text: string, previous: Record<string, string> = {}): Record<string, string> {
  const colon = text.indexOf(":");
  if (colon <= 0) throw new InvalidArgumentError('It must be a name, a colon and a value: "X-Api-Key: abc".');
  return { ...previous, [text.slice(0, colon).trim()]: text.slice(colon + 1).trim() };
}

/** Names set apart by commas. */
export function parseCommaList(text: string): string[] {
  return text
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "");
}

/** `read=10/20`, `read=none` or `read=default`, added to the limits before it. `default` becomes undefined. */
export function parseRateLimit(text: string, previous: RateLimitOverrides = {}): RateLimitOverrides {
  const [, limitClass, perSecond, burst] =
    /^(read|write|batch)=(?:none|default|(\d{1,6}(?:\.\d+)?)\/(\d{1,6}))$/.exec(text) ?? [];
  const isValid = perSecond === undefined || (Number(perSecond) > 0 && Number(burst) >= 1);
  if (limitClass === undefined || !isValid)
    throw new InvalidArgumentError("It must be like read=10/20, read=none or read=default.");
  const limit = perSecond === undefined ? null : { perSecond: Number(perSecond), burst: Number(burst) };
  return { ...previous, [limitClass]: text.endsWith("=default") ? undefined : limit };
}

export function parsePositiveInteger(text: string): number {
  const count = /^\d{1,9}$/.test(text) ? Number(text) : 0;
  if (count >= 1) return count;
  throw new InvalidArgumentError("It must be a whole number from 1.");
}

export function parsePort(text: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
  if (port <= 65_535) return port;
  throw new InvalidArgumentError("It must be a port: 0 (any that is free) to 65535.");
}
