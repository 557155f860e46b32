/** Options that are more than text. Commander tells of an InvalidArgumentError with the option's name. */
import { InvalidArgumentError } from "commander";
import { z } from "zod";
import { scopes as allScopes, type Scope } from "../api-keys/api-key.entity.ts";
import { dateValue } from "../jobs/job.values.ts";

const DAY_MS = 86_400_000;
const instant = z.iso.datetime({ offset: true });

/** `90d`, an instant, or a day, at whose end (UTC) the key expires. */
export function expiryValue(text: string): Date {
  const days = /^(\d{1,5})d$/.exec(text)?.[1];
  if (days !== undefined) return new Date(Date.now() + Number(days) * DAY_MS);
  if (dateValue.safeParse(text).success) return new Date(Date.parse(text) + DAY_MS);
  if (instant.safeParse(text).success) return new Date(text);
  throw new InvalidArgumentError(
    "It must be a day (2027-01-31), an instant (2027-01-31T12:00:00Z) or days from now (90d).",
  );
}

export function scopesValue(text: string): Scope[] {
  const names = text.split(",").map((name) => name.trim());
  const unknown = names.filter((name) => !(allScopes as readonly string[]).includes(name));
  if (unknown.length === 0) return [...new Set(names)] as Scope[];
  throw new InvalidArgumentError(`Scopes are ${allScopes.join(", ")}, set apart by commas.`);
}

export function hoursValue(text: string): number {
  const hours = /^\d{1,2}(\.\d+)?$/.test(text) ? Number(text) : Number.NaN;
  if (hours <= 24) return hours;
  throw new InvalidArgumentError("It must be a number of hours from 0 to 24.");
}
