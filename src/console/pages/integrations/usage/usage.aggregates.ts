/** Rows of days and keys, added up for a chart and its tables. */
import type { UsageQuery } from "../../../generated/usage.ts";

export type UsageRow = NonNullable<UsageQuery["usage"]>[number];

export interface UsageTotals {
  succeeded: number;
  refused: number;
  failed: number;
  total: number;
  /** Null: there was no request. */
  meanDurationMs: number | null;
}

export interface DayUsage extends UsageTotals {
  /** `2026-11-21`, in UTC. */
  day: string;
}

export interface KeyUsage extends UsageTotals {
  keyId: string;
  /** Null: the key is gone. */
  keyName: string | null;
}

const DAY_MS = 86_400_000;

export function aggregateUsage(rows: readonly UsageRow[]): UsageTotals {
  const totals = { succeeded: 0, refused: 0, failed: 0, total: 0 };
  let durationMs = 0;
  for (const { succeeded, refused, failed, meanDurationMs } of rows) {
    const count = succeeded + refused + failed;
    totals.succeeded += succeeded;
    totals.refused += refused;
    totals.failed += failed;
    totals.total += count;
    durationMs += count * meanDurationMs;
  }
  return { ...totals, meanDurationMs: totals.total === 0 ? null : durationMs / totals.total };
}

/** Each of the last `days` days up to today, oldest first, those without a request among them. */
export function usageByDay(rows: readonly UsageRow[], days: number, nowMs: number): DayUsage[] {
  const rowsByDay = Map.groupBy(rows, ({ day }) => day);
  return Array.from({ length: days }, (_, at) => {
    const day = new Date(nowMs - (days - 1 - at) * DAY_MS).toISOString().slice(0, 10);
    return { day, ...aggregateUsage(rowsByDay.get(day) ?? []) };
  });
}

/** The busiest first. */
export function usageByKey(rows: readonly UsageRow[]): KeyUsage[] {
  return [...Map.groupBy(rows, ({ keyId }) => keyId)]
    .map(([keyId, ofKey]) => ({ keyId, keyName: ofKey.at(-1)?.keyName ?? null, ...aggregateUsage(ofKey) }))
    .toSorted((one, other) => other.total - one.total);
}
