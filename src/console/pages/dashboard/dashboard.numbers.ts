/** What the dashboard makes of the API's groups: a count for each category, a number for each day, the commonest reasons. */
import type { CountOfGroupFragment, JobFilter } from "../../generated/dashboard.ts";
import { dueFilter } from "../jobs/jobs.filter.ts";
import { CATEGORIES, UNFINISHED, type Category, type JobsSearch } from "../jobs/jobs.search.ts";

type Groups = readonly CountOfGroupFragment[];

const DAY_MS = 86_400_000;
const DAYS = 30;

export interface CategoryCount {
  category: Category;
  count: number;
}

/** All of them, in their order, those without a job too. */
export function categoryCounts(groups: Groups): CategoryCount[] {
  const counts = countsOf(groups);
  return CATEGORIES.map((category) => ({ category, count: counts.get(category) ?? 0 }));
}

export interface TrendDay {
  day: string;
  created: number;
  delivered: number;
}

/** The last 30 days, today included, days without a job too. */
export function trendDays(created: Groups, delivered: Groups, today: string): TrendDay[] {
  const [made, done] = [countsOf(created), countsOf(delivered)];
  return Array.from({ length: DAYS }, (_, index) => {
    const day = daysBefore(today, DAYS - 1 - index);
    return { day, created: made.get(day) ?? 0, delivered: done.get(day) ?? 0 };
  });
}

export interface ReasonCount {
  /** Null: those without a reason. */
  code: string | null;
  count: number;
}

/** The commonest, and how many there are of the others. */
export function commonReasons(groups: Groups, most: number): { shown: ReasonCount[]; others: number } {
  const sorted = groups
    .map(({ count, keys }) => ({ code: keys[0]?.value ?? null, count }))
    .toSorted((one, other) => other.count - one.count);
  const others = sorted.slice(most).reduce((sum, { count }) => sum + count, 0);
  return { shown: sorted.slice(0, most), others };
}

function countsOf(groups: Groups): Map<string | null, number> {
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
  const since = { gte: `${daysBefore(today, DAYS - 1)}T00:00:00.000Z` };
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
