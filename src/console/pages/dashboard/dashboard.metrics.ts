/** Computes the dashboard's numbers from the API's groups: jobs per category, jobs per day, most common reasons. */
import type { CountOfGroupFragment, JobFilter } from "../../generated/dashboard.ts";
import { addDays, startOfDay } from "../jobs/job.due.ts";
import { dueFilter } from "../jobs/filters/jobs.variables.ts";
import { CATEGORIES, UNFINISHED, type Category, type JobsSearch } from "../jobs/filters/jobs.search.ts";

type CountGroups = readonly CountOfGroupFragment[];

const DAY_MS = 86_400_000;
const TREND_DAYS = 30;

export interface CategoryCount {
  category: Category;
  count: number;
}

/** Every category in display order, including empty ones. */
export function categoryCounts(groups: CountGroups): CategoryCount[] {
  const counts = countsByKey(groups);
  return CATEGORIES.map((category) => ({ category, count: counts.get(category) ?? 0 }));
}

export interface TrendDay {
  day: string;
  created: number;
  delivered: number;
}

/** The last 30 days including today, and including days without jobs. */
export function trendDays(created: CountGroups, delivered: CountGroups, today: string): TrendDay[] {
  const [createdCounts, deliveredCounts] = [countsByKey(created), countsByKey(delivered)];
  return Array.from({ length: TREND_DAYS }, (_, index) => {
    const day = addDays(today, index + 1 - TREND_DAYS);
    return { day, created: createdCounts.get(day) ?? 0, delivered: deliveredCounts.get(day) ?? 0 };
  });
}

export interface ReasonCount {
  /** Null for jobs without a reason. */
  code: string | null;
  count: number;
}

/** The `limit` most common reasons, and the number of jobs with other reasons. */
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

/** Whole days between two dates. */
export function daysBetween(from: string, to: string): number {
  return Math.round((Date.parse(to) - Date.parse(from)) / DAY_MS);
}

interface DashboardVariables {
  due: JobFilter;
  createdSince: JobFilter;
  deliveredSince: JobFilter;
}

/** The query variables for a day in a time zone. */
export function dashboardVariables(today: string, zone: string): DashboardVariables {
  const since = { gte: startOfDay(addDays(today, 1 - TREND_DAYS), zone) };
  return {
    due: { ...dueFilter({ due_from: today, due_to: today }), statusCategory: UNFINISHED },
    createdSince: { createdAt: since },
    deliveredSince: { updatedAt: since, statusCategory: ["SUCCESS"] },
  };
}

/** The search of the jobs page that "See all" of the due jobs links to. */
export function dueSearch(today: string): JobsSearch {
  return { due_from: today, due_to: today, category: [...UNFINISHED] };
}
