/** What the dashboard makes of the API's groups: a count for each category, a number for each day, the commonest reasons. */
import type { CountOfGroupFragment, JobFilter } from "../../generated/dashboard.ts";
import { dueFilter } from "../jobs/filters/jobs.variables.ts";
import { CATEGORIES, UNFINISHED, type Category, type JobsSearch } from "../jobs/filters/jobs.search.ts";

type CountGroups = readonly CountOfGroupFragment[];

const DAY_MS = 86_400_000;
const TREND_DAYS = 30;

export interface CategoryCount {
  category: Category;
  count: number;
}

/** All of them, in their order, those without a job too. */
export function categoryCounts(groups: CountGroups): CategoryCount[] {
  const counts = countsByKey(groups);
  return CATEGORIES.map((category) => ({ category, count: counts.get(category) ?? 0 }));
}

export interface TrendDay {
  day: string;
  created: number;
  delivered: number;
}

/** The last 30 days, today included, days without a job too. */
export function trendDays(created: CountGroups, delivered: CountGroups, today: string): TrendDay[] {
  const [createdCounts, deliveredCounts] = [countsByKey(created), countsByKey(delivered)];
  return Array.from({ length: TREND_DAYS }, (_, index) => {
    const day = daysBefore(today, TREND_DAYS - 1 - index);
    return { day, created: createdCounts.get(day) ?? 0, delivered: deliveredCounts.get(day) ?? 0 };
  });
}

export interface ReasonCount {
  /** Null: those without a reason. */
  code: string | null;
  count: number;
}

/** The commonest, and how many there are of the others. */
export function commonReasons(groups: CountGroups, limit: number): { shown: ReasonCount[]; others: number } {
  const sorted = groups
    .map(({ count, keys }) => ({ code: keys[0]?.value ?? null, count }))
    .toSorted((one, other) => other.count - one.count);
  const others = sorted.slice(limit).reduce((sum, { count }) => sum + count, 0);
  return { shown: sorted.slice(0, limit), others };
}

function countsByKey(groups: CountGroups): Map<string | null, number> {
  return new Map(groups.map(({ keys, count }) => [keys[0]?.value ?? null, count]));
}

function daysBefore(day: string, days: number): string {
  return new Date(Date.parse(day) - days * DAY_MS).toISOString().slice(0, 10);
}

/** So many whole days from one day to a later one. */
export function daysBetween(from: string, to: string): number {
  return Math.round((Date.parse(to) - Date.parse(from)) / DAY_MS);
}

interface DashboardVariables {
  due: JobFilter;
  createdSince: JobFilter;
  deliveredSince: JobFilter;
}

/** What is asked for on a day, as the API counts days. */
export function dashboardVariables(today: string): DashboardVariables {
  const since = { gte: `${daysBefore(today, TREND_DAYS - 1)}T00:00:00.000Z` };
  return {
    due: { ...dueFilter({ due_from: today, due_to: today }), statusCategory: UNFINISHED },
    createdSince: { createdAt: since },
    deliveredSince: { updatedAt: since, statusCategory: ["SUCCESS"] },
  };
}

/** The table that shows what the short list of due jobs begins. */
export function dueSearch(today: string): JobsSearch {
  return { due_from: today, due_to: today, category: [...UNFINISHED] };
}
