/** A point in time: relative ("3 hours ago") or exact, with the time in the organisation's time zone as tooltip. */
import { useNow } from "../../app/clock.ts";
import { formatDay, formatRelative, formatTime } from "../../app/formats.ts";
import { useZone } from "../../app/session/zone.ts";

const UNITS: readonly [unit: Intl.RelativeTimeFormatUnit, seconds: number][] = [
  ["year", 31_536_000],
  ["month", 2_592_000],
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
];

interface TimestampProps {
  /** An ISO 8601 instant. */
  value: string;
  /** `relative`: "3 hours ago"; `exact`: date and time; `precise`: with seconds. */
  display?: "relative" | "exact" | "precise";
}

export function Timestamp({ value, display = "relative" }: TimestampProps) {
  const nowMs = useNow();
  const zone = useZone();
  const instant = new Date(value);
  return (
    <time dateTime={value} title={formatTime(instant, zone, "zoned")} style={{ whiteSpace: "nowrap" }}>
      {display === "relative" ? relativeTime(instant, nowMs) : formatTime(instant, zone, display)}
    </time>
  );
}

function relativeTime(instant: Date, nowMs: number): string {
  const seconds = Math.round((instant.getTime() - nowMs) / 1_000);
  const [unit, size] = UNITS.find(([, min]) => Math.abs(seconds) >= min) ?? ["second", 1];
  if (unit === "second" && Math.abs(seconds) < 20) return seconds > 0 ? "in a few seconds" : "just now";
  return formatRelative(Math.round(seconds / size), unit);
}

/** A calendar day such as `2026-11-21`, independent of the time zone. */
export function Day({ value }: { value: string }) {
  return (
    <time dateTime={value} style={{ whiteSpace: "nowrap" }}>
      {formatDay(value)}
    </time>
  );
}
