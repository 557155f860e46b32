/** Converts the form values of a new API key into the mutation's input. */
import type { CreateApiKeyInput, Scope } from "../../../generated/api-keys.ts";

export type Lifetime = "30" | "90" | "365" | "never" | "day";

export interface KeyFormValues extends Record<string, unknown> {
  name: string;
  scopes: Scope[];
  isTest: boolean;
  lifetime: Lifetime;
  /** For `day`: the last day on which the key is valid, such as `2026-11-21`, in the browser's time zone. */
  lastDay: string;
  /** Ranges, separated by line breaks, spaces, commas or semicolons. */
  cidrs: string;
}

export const emptyKeyValues: KeyFormValues = {
  name: "",
  scopes: ["JOBS_READ", "JOBS_WRITE"],
  isTest: false,
  lifetime: "365",
  lastDay: "",
  cidrs: "",
};

export const lifetimeOptions: { value: Lifetime; label: string }[] = [
  { value: "30", label: "In 30 days" },
  { value: "90", label: "In 90 days" },
  { value: "365", label: "In 1 year" },
  { value: "day", label: "On a specific date" },
  { value: "never", label: "Never" },
];

const DAY_MS = 86_400_000;

/** Null if the key never expires. */
function computeExpiresAt({ lifetime, lastDay }: KeyFormValues, nowMs: number): string | null {
  if (lifetime === "never") return null;
  if (lifetime === "day") return endOfDay(lastDay).toISOString();
  return new Date(nowMs + Number(lifetime) * DAY_MS).toISOString();
}

/** The last millisecond of a day in the browser's time zone. */
function endOfDay(day: string): Date {
  return new Date(`${day}T23:59:59.999`);
}

/** Null if the text is empty: any IP address is allowed. */
export function parseRanges(text: string): string[] | null {
  const ranges = text.split(/[\s,;]+/).filter((range) => range !== "");
  return ranges.length === 0 ? null : ranges.map(toCidr);
}

/** Replaces the server's message about one range, such as "cidrs.0 must be …", by one that names its line in `text`. */
export function cidrsErrorMessage(message: string, text: string): string {
  const index = /cidrs\.(\d+)\b/.exec(message)?.[1];
  if (index === undefined) return message;
  const line = lineOfRange(text, Number(index));
  return `Line ${line}: enter an IP address or range such as 203.0.113.0/24`;
}

/** The number of the line with the range at `index`, starting at 1. */
function lineOfRange(text: string, index: number): number {
  let count = 0;
  const lines = text.split("\n");
  const found = lines.findIndex((line) => {
    count += parseRanges(line)?.length ?? 0;
    return count > index;
  });
  return found === -1 ? lines.length : found + 1;
}

/** A single IP address becomes a range of one. */
function toCidr(text: string): string {
  if (text.includes("/")) return text;
  return text.includes(":") ? `${text}/128` : `${text}/32`;
}

export function keyInput(values: KeyFormValues, nowMs: number): CreateApiKeyInput {
  return {
    name: values.name.trim(),
    scopes: values.scopes,
    mode: values.isTest ? "TEST" : "LIVE",
    expiresAt: computeExpiresAt(values, nowMs),
    cidrs: parseRanges(values.cidrs),
  };
}

/** Client-side error messages by field. */
export function validateKey(values: KeyFormValues, nowMs: number): Record<string, string> {
  const problems: Record<string, string> = {};
  if (values.name.trim() === "") problems["name"] = "Enter a name";
  if (values.scopes.length === 0) problems["scopes"] = "Select at least one permission";
  if (values.lifetime === "day") {
    const end = endOfDay(values.lastDay).getTime();
    if (Number.isNaN(end)) problems["lastDay"] = "Choose a date";
    else if (end <= nowMs) problems["lastDay"] = "Choose a future date";
  }
  return problems;
}
