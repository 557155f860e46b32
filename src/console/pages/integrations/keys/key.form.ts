/** A new key as it is typed, and as it is asked for. */
import type { CreateApiKeyInput, Scope } from "../../../generated/api-keys.ts";

export type Lifetime = "30" | "90" | "365" | "never" | "day";

export interface KeyFormValues extends Record<string, unknown> {
  name: string;
  scopes: Scope[];
  lifetime: Lifetime;
  /** With `day`: the last day that the key is good, `2026-11-21`, in the reader's zone. */
  lastDay: string;
  /** Ranges, parted by line breaks, spaces or commas. */
  cidrs: string;
}

export const emptyKeyValues: KeyFormValues = {
  name: "",
  scopes: ["JOBS_READ", "JOBS_WRITE"],
  lifetime: "365",
  lastDay: "",
  cidrs: "",
};

export const lifetimeOptions: { value: Lifetime; label: string }[] = [
  { value: "30", label: "In 30 days" },
  { value: "90", label: "In 90 days" },
  { value: "365", label: "In a year" },
  { value: "day", label: "On a day of your choice" },
  { value: "never", label: "Never" },
];

const DAY_MS = 86_400_000;

/** Null: never. */
function computeExpiresAt({ lifetime, lastDay }: KeyFormValues, nowMs: number): string | null {
  if (lifetime === "never") return null;
  if (lifetime === "day") return endOfDay(lastDay).toISOString();
  return new Date(nowMs + Number(lifetime) * DAY_MS).toISOString();
}

/** The last moment of a day in the reader's zone. */
function endOfDay(day: string): Date {
  return new Date(`${day}T23:59:59.999`);
}

/** Null: from anywhere. */
export function parseRanges(text: string): string[] | null {
  const ranges = text.split(/[\s,;]+/).filter((range) => range !== "");
  return ranges.length === 0 ? null : ranges.map(toCidr);
}

/** A single address is a range of one. */
function toCidr(text: string): string {
  if (text.includes("/")) return text;
  return text.includes(":") ? `${text}/128` : `${text}/32`;
}

export function keyInput(values: KeyFormValues, nowMs: number): CreateApiKeyInput {
  return {
    name: values.name.trim(),
    scopes: values.scopes,
    expiresAt: computeExpiresAt(values, nowMs),
    cidrs: parseRanges(values.cidrs),
  };
}

/** What is wrong before the server is asked; by field. */
export function validateKey(values: KeyFormValues, nowMs: number): Record<string, string> {
  const problems: Record<string, string> = {};
  if (values.name.trim() === "") problems["name"] = "Say what the key is for";
  if (values.scopes.length === 0) problems["scopes"] = "Choose at least one";
  if (values.lifetime === "day") {
    const end = endOfDay(values.lastDay).getTime();
    if (Number.isNaN(end)) problems["lastDay"] = "Choose the last day";
    else if (end <= nowMs) problems["lastDay"] = "Choose a day that is still to come";
  }
  return problems;
}
