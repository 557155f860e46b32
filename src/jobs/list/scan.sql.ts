/** The SQL of a scan through the job list: forward or backward from a position, or from an offset. */
import { raw, sql, type Sql } from "../../core/postgres/sql.ts";
import { counterRowsSql } from "../counters/counters.sql.ts";
import type { JobOrder, JobOrderField, JobPosition } from "./cursor.ts";
import { dueDateSql } from "./filter.sql.ts";

/** Backward: the last items before `position`, or of the whole list. Items are always in the list's order. */
export interface KeysetPage {
  direction: "forward" | "backward";
  limit: number;
  position: JobPosition | null;
}

/** The page after the first `offset` items. Not in Marking Number order. */
export interface OffsetPage {
  limit: number;
  offset: number;
}

/** The SQL parts of a scan along the order or against it. */
export interface Scan {
  /** The CTE that the conditions and the window read from, if any. */
  withClause: Sql;
  /**
   * Conditions for the rows to scan. Beyond a position, jobs with and without a date are separate segments, because a
   * descending index scan returns nulls first.
   */
  segments: Sql[];
  /** The order within a segment, which is the order of the index. */
  segmentOrder: Sql;
  order: Sql;
  /** `limit` and `offset`. A keyset page has one more row if there are more. */
  window: Sql;
  /** The rows from the start of the scan to the end of the window, as `limit`. */
  reach: Sql;
  /** The scan skips many rows, so it should select ids before it fetches the rows. */
  isDeep: boolean;
}

export function keysetScan(order: JobOrder, { direction, limit, position }: KeysetPage): Scan {
  const { field } = order;
  const isBackward = direction === "backward";
  const descending = order.descending !== isBackward;
  // A literal, because a generic plan does not know a parameter's value and would assume a long page. In the order of ids,
  // that is right: the plan then follows the primary key, and does not sort the jobs of an organisation for each page.
  const window = field === "id" ? sql`limit ${limit + 1}` : raw(`limit ${limit + 1}`);
  return {
    withClause: raw(""),
    segments: segmentsOf(field, { downward: descending, isBackward, position }),
    segmentOrder: raw(orderBy(field, descending)),
    order: raw(orderBy(field, descending, isBackward ? "first" : "last")),
    window,
    reach: window,
    isDeep: false,
  };
}

interface ScanDirection {
  downward: boolean;
  isBackward: boolean;
  position: JobPosition | null;
}

function segmentsOf(field: JobOrderField, { downward, isBackward, position }: ScanDirection): Sql[] {
  if (!isDate(field)) return [position ? afterPosition(field, downward, position) : sql`true`];
  const dated = sql`${raw(orderedBy(field))} is not null`;
  const undated = sql`${raw(orderedBy(field))} is null`;
  if (!position) return [dated, undated];
  const beyond = afterPosition(field, downward, position);
  if (position.value === null) return isBackward ? [beyond, dated] : [beyond];
  return isBackward ? [beyond] : [beyond, undated];
}

function isDate(field: JobOrderField): boolean {
  return field === "scheduled_date" || field === "due_date";
}

function orderedBy(field: JobOrderField): string {
  return field === "due_date" ? dueDateSql : `job.${field}`;
}

function afterPosition(field: JobOrderField, downward: boolean, { value, id }: JobPosition): Sql {
  const operator = raw(downward ? "<" : ">");
  if (field === "marking_number") {
    // Safe to look up by id: Marking Numbers do not change, jobs are not deleted, and ids cannot be guessed.
    return sql`job.marking_number ${operator} (select marking_number from job where id = ${id}::uuid)`;
  }
  if (field === "id") return sql`job.id ${operator} ${id}::uuid`;
  const ordered = raw(orderedBy(field));
  if (value === null) return sql`${ordered} is null and job.id ${operator} ${id}::uuid`;
  const type = raw(isDate(field) ? "date" : "timestamptz");
  return sql`(${ordered}, job.id) ${operator} (${value}::${type}, ${id}::uuid)`;
}

/** From this offset on, a page selects ids first and fetches rows only for them. */
const DEEP_OFFSET = 200;

/** `wholeListOf`: the organisation whose whole list is scanned, so that its counters tell where to begin; null if filtered. */
export function offsetScan(
  { field, descending }: JobOrder,
  { limit, offset }: OffsetPage,
  wholeListOf: string | null,
): Scan {
  const order = raw(orderBy(field, descending, "last"));
  const isDeep = offset >= DEEP_OFFSET;
  const reach = raw(`limit ${limit + offset}`);
  const scan = { withClause: raw(""), segments: [raw("true")], segmentOrder: order, order, reach, isDeep };
  if (!isDeep || wholeListOf === null || field !== "created_at")
    return { ...scan, window: sql`limit ${limit} offset ${offset}` };
  return {
    ...scan,
    withClause: sql`with seek_point as materialized (${dayOfRow(offset, wholeListOf, descending)})`,
    segments: [
      descending
        ? sql`job.created_at < ((select day from seek_point) + 1)::timestamp at time zone 'UTC'`
        : sql`job.created_at >= (select day from seek_point)::timestamp at time zone 'UTC'`,
    ],
    window: sql`limit ${limit} offset ${offset}::bigint - (select skipped from seek_point)`,
  };
}

/** The day of creation of row `offset` and the number of rows before that day, from the counters per day. */
function dayOfRow(offset: number, organizationId: string, descending: boolean): Sql {
  const direction = raw(descending ? "desc" : "asc");
  return sql`select day, skipped from (
      select value::date as day, (sum(sum(counted)) over (order by value ${direction}) - sum(counted))::bigint as skipped
      from (${counterRowsSql(organizationId, "created_day")}) counts group by value having sum(counted) <> 0
    ) days where skipped <= ${offset} order by skipped desc limit 1`;
}

function orderBy(field: JobOrderField, descending: boolean, nulls?: "first" | "last"): string {
  const direction = descending ? "desc" : "asc";
  const nullsClause = nulls && isDate(field) ? ` nulls ${nulls}` : "";
  return `order by ${orderedBy(field)} ${direction}${nullsClause}, job.id ${direction}`;
}
