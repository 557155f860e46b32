/** Adds up usage rows for the chart and the tables. */
import type { UsageQuery } from "../../../generated/usage.ts";

export type UsageRow = NonNullable<UsageQuery["usage"]>[number];

export interface UsageTotals {
  succeeded: number;
  refused: number;
  failed: number;
  total: number;
  /** Null if there were no requests. */
  meanDurationMs: number | null;
}

export interface DayUsage extends UsageTotals {
  /** `2026-11-21`, in UTC. */
  day: string;
}

export interface KeyUsage extends UsageTotals {
  keyId: string;
  /** Null for a deleted key. */
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

/** The last `days` days up to today, oldest first, including days without requests. */
export function usageByDay(rows: readonly UsageRow[], days: number, nowMs: number): DayUsage[] {
  const rowsByDay = Map.groupBy(rows, ({ day }) => day);
  return Array.from({ length: days }, (_, index) => {
    const day = new Date(nowMs - (days - 1 - index) * DAY_MS).toISOString().slice(0, 10);
    return { day, ...aggregateUsage(rowsByDay.get(day) ?? []) };
  });
}

/** Keys with the most requests first. */
export function usageByKey(rows: readonly UsageRow[]): KeyUsage[] {
  return [...Map.groupBy(rows, ({ keyId }) => keyId)]
    .map(([keyId, ofKey]) => ({ keyId, keyName: ofKey.at(-1)?.keyName ?? null, ...aggregateUsage(ofKey) }))
    .toSorted((one, other) => other.total - one.total);
}
