/** Computes the dashboard's numbers from the API's groups: jobs per category, jobs per day, most common reasons. */
import type { CountOfGroupFragment, CountsOfTodayFragment, JobFilter } from "../../generated/dashboard.ts";
import { addDays, startOfDay } from "../jobs/job.due.ts";
import {
  CATEGORIES,
  NO_CONTRACTOR,
  UNFINISHED,
  type Category,
  type JobsSearch,
} from "../jobs/filters/jobs.search.ts";

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
    due: { dueDate: { eq: today }, statusCategory: UNFINISHED },
    createdSince: { createdAt: since },
    deliveredSince: { updatedAt: since, statusCategory: ["SUCCESS"] },
  };
}

export type TodayColumn = Exclude<keyof CountsOfTodayFragment, "__typename">;

/** In the order of the board. */
export const TODAY_LABELS: Record<TodayColumn, string> = {
  due: "Due",
  toDo: "To do",
  done: "Done",
  attention: "Failed, on hold",
  late: "Late",
};
export const TODAY_COLUMNS = Object.keys(TODAY_LABELS) as TodayColumn[];

const categoriesOf: Partial<Record<TodayColumn, Category[]>> = {
  toDo: ["OPEN", "IN_PROGRESS"],
  done: ["SUCCESS"],
  attention: ["ATTENTION"],
};

/** The search for the late jobs. */
export const LATE: JobsSearch = { late: true, sort: "due_date", size: 100 };

/** The search for the jobs that are due on `day`: relative, unless this browser has another day. */
export function dueOn(day: string, today: string): JobsSearch {
  return day === today ? { due: "today" } : { due_from: day, due_to: day };
}

/**
 * The search of the jobs page that has exactly the jobs of a number. `due`: of the board's day. `contractor` is an id, or null for the
 * jobs without one; without it, those of all.
 */
export function todaySearch(column: TodayColumn, due: JobsSearch, contractor?: string | null): JobsSearch {
  const category = categoriesOf[column];
  return {
    ...(column === "late" ? LATE : due),
    ...(category && { category }),
    ...(contractor !== undefined && { contractor: [contractor ?? NO_CONTRACTOR] }),
  };
}

/** The search for the jobs due today that are not finished. */
export const unfinishedToday: JobsSearch = { due: "today", category: [...UNFINISHED] };
