/** Rows of days and keys, added up for a chart and its tables. */
import type { UsageQuery } from "../../generated/usage.ts";

export type UsageRow = NonNullable<UsageQuery["usage"]>[number];

export interface Sum {
  succeeded: number;
  refused: number;
  failed: number;
  total: number;
  /** Null: there was no request. */
  meanDurationMs: number | null;
}

export interface DaySum extends Sum {
  /** `2026-11-21`, in UTC. */
  day: string;
}

export interface KeySum extends Sum {
  keyId: string;
  /** Null: the key is gone. */
  keyName: string | null;
}

const DAY_MS = 86_400_000;

export function sumOf(rows: readonly UsageRow[]): Sum {
  const sum = { succeeded: 0, refused: 0, failed: 0, total: 0 };
  let durationMs = 0;
  for (const { succeeded, refused, failed, meanDurationMs } of rows) {
    const count = succeeded + refused + failed;
    sum.succeeded += succeeded;
    sum.refused += refused;
    sum.failed += failed;
    sum.total += count;
    durationMs += count * meanDurationMs;
  }
  return { ...sum, meanDurationMs: sum.total === 0 ? null : durationMs / sum.total };
}

/** Each of the last `days` days up to today, oldest first, those without a request among them. */
export function sumByDay(rows: readonly UsageRow[], days: number, nowMs: number): DaySum[] {
  const ofDay = Map.groupBy(rows, ({ day }) => day);
  return Array.from({ length: days }, (_, at) => {
    const day = new Date(nowMs - (days - 1 - at) * DAY_MS).toISOString().slice(0, 10);
    return { day, ...sumOf(ofDay.get(day) ?? []) };
  });
}

/** The busiest first. */
export function sumByKey(rows: readonly UsageRow[]): KeySum[] {
  return [...Map.groupBy(rows, ({ keyId }) => keyId)]
    .map(([keyId, ofKey]) => ({ keyId, keyName: ofKey.at(-1)?.keyName ?? null, ...sumOf(ofKey) }))
    .toSorted((one, other) => other.total - one.total);
}
