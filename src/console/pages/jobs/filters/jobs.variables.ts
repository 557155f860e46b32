/** Converts the search of the jobs table into the API's filter, order and page arguments. */
import type { JobFilter, JobOrder, JobsPageQueryVariables } from "../../../generated/jobs.ts";
import {
  DEFAULT_SORT,
  pageSize,
  type JobsFilter,
  type JobsSearch,
  type Period,
  type Sort,
  type SortField,
} from "./jobs.search.ts";

const HOUR_MS = 3_600_000;
const PERIOD_MS: Record<Period, number> = {
  "1h": HOUR_MS,
  "24h": 24 * HOUR_MS,
  "7d": 7 * 24 * HOUR_MS,
  "30d": 30 * 24 * HOUR_MS,
};

const ORDER_FIELD_BY_SORT: Record<SortField, JobOrder["field"]> = {
  created_at: "CREATED_AT",
  updated_at: "UPDATED_AT",
  scheduled_date: "SCHEDULED_DATE",
  marking_number: "MARKING_NUMBER",
};

/** Shared by the table, its count and the CSV export. */
export interface JobsListVariables {
  filter: JobFilter | null;
  orderBy: JobOrder;
}

export function jobsListVariables(search: JobsSearch, nowMs = Date.now()): JobsListVariables {
  return { filter: toFilter(search, nowMs), orderBy: toOrder(search.sort ?? DEFAULT_SORT) };
}

export function pageVariables(search: JobsSearch, listVariables: JobsListVariables): JobsPageQueryVariables {
  const size = pageSize(search);
  const { after, before } = search;
  const pagination = before === undefined ? { first: size, ...(after && { after }) } : { last: size, before };
  return { ...listVariables, ...pagination };
}

export function toFilter(search: JobsFilter, nowMs: number): JobFilter | null {
  const filter: JobFilter = {
    ...(search.q && { search: search.q }),
    ...(search.status && { normalizedStatus: { in: search.status } }),
    ...(search.category && { statusCategory: search.category }),
    ...(search.reason && { failureReason: { in: search.reason } }),
    ...dueFilter(search),
    ...(search.late && { isLate: true }),
    ...(search.agent && { agentId: search.agent }),
    ...(search.contractor && { contractorId: search.contractor }),
    ...(search.postal_code && { postalCode: { startsWith: search.postal_code } }),
    ...(search.updated && { updatedAt: { gte: periodStart(search.updated, nowMs) } }),
  };
  return Object.keys(filter).length === 0 ? null : filter;
}

export function dueFilter({
  due_from: from,
  due_to: to,
}: Pick<JobsFilter, "due_from" | "due_to">): JobFilter {
  if (from === undefined && to === undefined) return {};
  return { dueDate: { ...(from && { gte: from }), ...(to && { lte: to }) } };
}

/** Rounded down to a minute, so that repeated queries hit the cache. */
function periodStart(period: Period, nowMs: number): string {
  const begin = nowMs - PERIOD_MS[period];
  return new Date(begin - (begin % 60_000)).toISOString();
}

function toOrder(sort: Sort): JobOrder {
  const { field, isDescending } = parseSort(sort);
  return { field: ORDER_FIELD_BY_SORT[field], direction: isDescending ? "DESC" : "ASC" };
}

export function parseSort(sort: Sort): { field: SortField; isDescending: boolean } {
  const isDescending = sort.startsWith("-");
  return { field: (isDescending ? sort.slice(1) : sort) as SortField, isDescending };
}

/** Reverses the order of the current column. A new column starts descending for times and ascending otherwise. */
export function toggleSort(current: Sort, field: SortField): Sort {
  const { field: currentField, isDescending } = parseSort(current);
  if (currentField === field) return isDescending ? field : `-${field}`;
  return field === "created_at" || field === "updated_at" ? `-${field}` : field;
}
