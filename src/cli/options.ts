/** Parsers of options, and options of several commands. Commander reports an InvalidArgumentError with the option's name. */
import { InvalidArgumentError } from "commander";
import { z } from "zod";
import { dateValue } from "../jobs/api.ts";
import {
  organizationModes,
  type OrganizationSelection,
  type OrganizationService,
} from "../organizations/api.ts";
import { DAY_MS, parseDuration } from "../core/time.ts";

const dateTimeValue = z.iso.datetime({ offset: true });

/** Parses a date-time, a date (its start, UTC) or a time ago: `12h`. */
export function parseSince(text: string): Date {
  return parseTime(text, -1, 0);
}

/** Parses a date-time, a date (its end, UTC) or a time from now: `90d`. */
export function parseExpiry(text: string): Date {
  return parseTime(text, 1, DAY_MS);
}

function parseTime(text: string, direction: 1 | -1, timeOfDateMs: number): Date {
  const duration = parseDuration(text);
  const isDate = dateValue.safeParse(text).success;
  const isTime = isDate || dateTimeValue.safeParse(text).success;
  const stated = isTime ? Date.parse(text) + (isDate ? timeOfDateMs : 0) : Number.NaN;
  const ms = duration === null ? stated : Date.now() + direction * duration;
  // Years with a sign can't be stored.
  if (ms >= 0 && ms < Date.UTC(10_000)) return new Date(ms);
  const unit = direction === 1 ? "from now (90d)" : "ago (30m, 12h, 7d)";
  throw new InvalidArgumentError(
    `It must be a date (2027-01-31), a date-time (2027-01-31T12:00:00Z) or a time ${unit}.`,
  );
}

/** The command's service checks the range. */
export function parseNumber(text: string): number {
  if (/^\d+(\.\d+)?$/.test(text)) return Number(text);
  throw new InvalidArgumentError("It must be a number.");
}

/** Splits at commas, trims, and drops empty names. */
export function parseCommaList(text: string): string[] {
  return text
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "");
}

const modes = [...organizationModes, "all"] as const;

/** Options that select the organisations whose items a command lists. `items` completes the descriptions, such as `keys`. */
export const organizationOptions = (items: string) =>
  ({
    org: { value: "<org>", text: `only ${items} of this organisation (ID or exact name)` },
    mode: { value: "<mode>", text: `live or test ${items}, or all (default: live)`, choices: modes },
  }) as const;

/** Throws NotFoundException for an unknown organisation. */
export async function selectionOf(
  organizations: OrganizationService,
  { org, mode = "live" }: { org: string | undefined; mode: (typeof modes)[number] | undefined },
): Promise<OrganizationSelection> {
  const organizationId = org === undefined ? undefined : (await organizations.get(org)).id;
  return { organizationId, mode: mode === "all" ? undefined : mode };
}
