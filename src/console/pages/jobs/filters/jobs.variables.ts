/** Converts the search of the jobs table into the API's filter, order and page arguments. */
import type { JobFilter, JobOrder, JobsPageQueryVariables } from "../../../generated/jobs.ts";
import { addDays, daysOf, startOfDay } from "../job.due.ts";
import {
  DEFAULT_SORT,
  NO_CONTRACTOR,
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
  due_date: "DUE_DATE",
  scheduled_date: "SCHEDULED_DATE",
  marking_number: "MARKING_NUMBER",
};

/** Shared by the table, its count and the CSV export. */
export interface JobsListVariables {
  filter: JobFilter | null;
  orderBy: JobOrder;
}

/** The time from which relative filters count. */
export interface FilterClock {
  /** Today in the time zone. */
  today: string;
  zone: string;
  /** Default: now. */
  nowMs?: number;
}

export function jobsListVariables(search: JobsSearch, clock: FilterClock): JobsListVariables {
  return { filter: toFilter(search, clock), orderBy: toOrder(search.sort ?? DEFAULT_SORT) };
}

export function pageVariables(search: JobsSearch, listVariables: JobsListVariables): JobsPageQueryVariables {
  const size = pageSize(search);
  const { after, before } = search;
  const pagination = before === undefined ? { first: size, ...(after && { after }) } : { last: size, before };
  return { ...listVariables, ...pagination };
}

export function toFilter(
  search: JobsFilter,
  { today, zone, nowMs = Date.now() }: FilterClock,
): JobFilter | null {
  const filter: JobFilter = {
    ...(search.q && { search: search.q }),
    ...(search.status && { normalizedStatus: { in: search.status } }),
    ...(search.category && { statusCategory: search.category }),
    ...(search.reason && { failureReason: { in: search.reason } }),
    ...dueFilter(search, today),
    ...(search.late && { isLate: true }),
    ...(search.agent && { agentId: search.agent }),
    ...(search.contractor && contractorFilter(search.contractor)),
    ...(search.postal_code && { postalCode: { startsWith: search.postal_code } }),
    ...(search.provider_status && { providerStatus: { eq: search.provider_status } }),
    ...createdFilter(search, zone),
    ...(search.updated && { updatedAt: { gte: periodStart(search.updated, nowMs) } }),
  };
  return Object.keys(filter).length === 0 ? null : filter;
}

function dueFilter({ due, due_from, due_to }: JobsFilter, today: string): JobFilter {
  const [from, to] = due ? daysOf(due, today) : [due_from, due_to];
  if (from === undefined && to === undefined) return {};
  return { dueDate: { ...(from && { gte: from }), ...(to && { lte: to }) } };
}

/** Whole days in the time zone. */
function createdFilter({ created_from: from, created_to: to }: JobsFilter, zone: string): JobFilter {
  if (from === undefined && to === undefined) return {};
  return {
    createdAt: {
      ...(from && { gte: startOfDay(from, zone) }),
      ...(to && { lt: startOfDay(addDays(to, 1), zone) }),
    },
  };
}

function contractorFilter(contractors: readonly string[]): JobFilter {
  const contractorId = contractors.filter((id) => id !== NO_CONTRACTOR);
  if (contractorId.length === contractors.length) return { contractorId };
  if (contractorId.length === 0) return { hasContractor: false };
  return { or: [{ hasContractor: false }, { contractorId }] };
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
