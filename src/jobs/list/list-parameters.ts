/** The filters and orders of REST's job list and of exports, as SQL. */
import { raw, sql, type Sql } from "../../platform/postgres/sql.ts";

/** All parameters must match. Dates are `YYYY-MM-DD`. Ranges include both ends; for instants they cover whole UTC days. */
export interface JobListParameters {
  markingNumber?: string | undefined;
  batchNumber?: string | undefined;
  groupCode?: string | undefined;
  normalizedStatus?: string | undefined;
  failureReason?: string | undefined;
  updatedAtFrom?: string | undefined;
  updatedAtTo?: string | undefined;
  /** An instant, ISO 8601. */
  updatedSince?: string | undefined;
  scheduledDateFrom?: string | undefined;
  scheduledDateTo?: string | undefined;
  /** Prefix of the Marking Number or postal code, or part of the recipient's name or delivery address; see `searchSql`. */
  search?: string | undefined;
}

export const jobSortFields = ["created_at", "updated_at", "scheduled_date"] as const;
export interface JobSort {
  field: (typeof jobSortFields)[number];
  descending: boolean;
}

export const newestFirst: JobSort = { field: "created_at", descending: true };

/** The conditions for `parameters`, without visibility. */
export function parametersToSql(parameters: JobListParameters): Sql[] {
  const conditions: Sql[] = [];
  const add = <Value>(value: Value | undefined, condition: (value: Value) => Sql): void => {
    if (value !== undefined) conditions.push(condition(value));
  };
  add(parameters.markingNumber, (value) => sql`job.marking_number = ${value}`);
  add(parameters.batchNumber, (value) => sql`job.batch_number = ${value}`);
  add(parameters.groupCode, (value) => sql`job.group_code = ${value}`);
  add(parameters.normalizedStatus, (value) => sql`job.normalized_status = ${value}`);
  add(parameters.failureReason, (value) => sql`job.failure_reason = ${value}`);
  add(parameters.updatedAtFrom, (day) => sql`job.updated_at >= ${day}::date::timestamp at time zone 'UTC'`);
  add(
    parameters.updatedAtTo,
    (day) => sql`job.updated_at < (${day}::date + 1)::timestamp at time zone 'UTC'`,
  );
  add(parameters.updatedSince, (instant) => sql`job.updated_at >= ${instant}::timestamptz`);
  add(parameters.scheduledDateFrom, (day) => sql`job.scheduled_date >= ${day}::date`);
  add(parameters.scheduledDateTo, (day) => sql`job.scheduled_date <= ${day}::date`);
  add(parameters.search, searchSql);
  return conditions;
}

/** True if the filter has a range of dates, which needs another index than the order. */
export function hasDateRange(parameters: JobListParameters): boolean {
  const { updatedAtFrom, updatedAtTo, updatedSince, scheduledDateFrom, scheduledDateTo } = parameters;
  return [updatedAtFrom, updatedAtTo, updatedSince, scheduledDateFrom, scheduledDateTo].some(
    (bound) => bound !== undefined,
  );
}

/** `order by` with the id as tie-breaker and nulls last. */
export function orderBy(sort: JobSort, table = "job"): Sql {
  const direction = sort.descending ? "desc" : "asc";
  const nulls = sort.field === "scheduled_date" && sort.descending ? " nulls last" : "";
  return raw(`order by ${table}.${sort.field} ${direction}${nulls}, ${table}.id ${direction}`);
}

/** The last row of the previous page: the value of the order column, which can be null, and the id. */
export interface JobPosition {
  value: string | null;
  id: string;
}

/** Condition for the rows after `position` in the order `sort`. */
export function rowsAfter(position: JobPosition, sort: JobSort): Sql {
  const operator = raw(sort.descending ? "<" : ">");
  const column = raw(`job.${sort.field}`);
  const type = raw(sort.field === "scheduled_date" ? "date" : "timestamptz");
  if (position.value === null) return sql`${column} is null and job.id ${operator} ${position.id}::uuid`;
  const later = sql`(${column}, job.id) ${operator} (${position.value}::${type}, ${position.id}::uuid)`;
  return sort.field === "scheduled_date" ? sql`(${later} or ${column} is null)` : later;
}

/** Matches a prefix of the Marking Number or postal code, or part of the recipient's name or delivery address. */
export function searchSql(text: string): Sql {
  const literal = text.replaceAll(/[\\%_]/g, String.raw`\$&`);
  return sql`(job.marking_number like ${`${literal}%`} or job.postal_code ilike ${`${literal}%`}
    or job.recipient_name ilike ${`%${literal}%`} or job.delivery_address ilike ${`%${literal}%`})`;
}
