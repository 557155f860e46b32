/** An instant: how long ago, with the exact time of the reader's own zone behind it. */
import { useSyncExternalStore } from "react";

const exactFormat = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
const shortFormat = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
const dayFormat = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeZone: "UTC" });
const relativeFormat = new Intl.RelativeTimeFormat("en", { numeric: "auto" });

const UNITS: readonly [unit: Intl.RelativeTimeFormatUnit, seconds: number][] = [
  ["year", 31_536_000],
  ["month", 2_592_000],
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
];

const TICK_MS = 10_000;
const listeners = new Set<() => void>();
let timer: ReturnType<typeof setInterval> | undefined;

/** One clock for all of them, and none where none is shown. */
function subscribeToClock(listener: () => void): () => void {
  listeners.add(listener);
  timer ??= setInterval(() => {
    for (const each of listeners) each();
  }, TICK_MS);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}

/** The same for a while, so that nothing is drawn anew for a second's sake; never before what has happened already. */
function roundedNowMs(): number {
  return Math.ceil(Date.now() / TICK_MS) * TICK_MS;
}

/** The time of the reader's clock, in milliseconds; whoever shows it is drawn anew as it goes on. */
export function useNow(): number {
  return useSyncExternalStore(subscribeToClock, roundedNowMs);
}

const FORMATS = { exact: shortFormat, precise: exactFormat };

interface TimestampProps {
  /** An ISO 8601 instant. */
  value: string;
  /** `relative`: "3 hours ago"; `exact`: the day and the time; `precise`: with seconds. */
  display?: "relative" | "exact" | "precise";
}

export function Timestamp({ value, display = "relative" }: TimestampProps) {
  const nowMs = useNow();
  const instant = new Date(value);
  return (
    <time dateTime={value} title={exactFormat.format(instant)} style={{ whiteSpace: "nowrap" }}>
      {display === "relative" ? relativeTime(instant, nowMs) : FORMATS[display].format(instant)}
    </time>
  );
}

function relativeTime(instant: Date, nowMs: number): string {
  const seconds = Math.round((instant.getTime() - nowMs) / 1_000);
  const [unit, size] = UNITS.find(([, least]) => Math.abs(seconds) >= least) ?? ["second", 1];
  if (unit === "second")
    return Math.abs(seconds) < 20 ? "just now" : relativeFormat.format(seconds, "second");
  return relativeFormat.format(Math.round(seconds / size), unit);
}

/** A calendar day, such as `2026-11-21`, which is the same in every zone. */
export function Day({ value }: { value: string }) {
  return (
    <time dateTime={value} style={{ whiteSpace: "nowrap" }}>
      {dayFormat.format(new Date(`${value}T00:00:00Z`))}
    </time>
  );
}
