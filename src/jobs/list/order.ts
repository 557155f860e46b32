/** Keyset pagination of jobs in both directions: orders, scan conditions and cursors. */
import { z } from "zod";
import { decodeCursor, encodeCursor } from "../../platform/cursor.ts";
import { raw, sql, type Sql } from "../../platform/postgres/sql.ts";
import { toIsoTime } from "../../platform/time.ts";
import type { JobPosition } from "./list-parameters.ts";
import type { JobRow } from "../job.row.ts";
import { dateValue } from "../job.values.ts";

export const jobOrderFields = ["created_at", "updated_at", "scheduled_date", "marking_number"] as const;
export type JobOrderField = (typeof jobOrderFields)[number];

/** The id breaks ties in the same direction. Nulls are last in both directions. */
export interface JobOrder {
  field: JobOrderField;
  descending: boolean;
}

/** The SQL parts of a scan from a position, along the order or against it. */
export interface KeysetScan {
  /**
   * Conditions for the rows beyond the position. Jobs with and without a date are separate segments, because a
   * descending index scan returns nulls first.
   */
  segments: Sql[];
  /** The order within a segment, which is the order of the index. */
  segmentOrder: Sql;
  /** The order of all segments together. */
  order: Sql;
}

/** `position` null: from the start of the list, or from its end if `backward`. */
export function keysetScan(order: JobOrder, backward: boolean, position: JobPosition | null): KeysetScan {
  const { field } = order;
  const descending = order.descending !== backward;
  const direction = descending ? "desc" : "asc";
  const nulls = field === "scheduled_date" ? ` nulls ${backward ? "first" : "last"}` : "";
  return {
    segments: segmentsOf(field, { downward: descending, backward, position }),
    segmentOrder: raw(`order by job.${field} ${direction}, job.id ${direction}`),
    order: raw(`order by job.${field} ${direction}${nulls}, job.id ${direction}`),
  };
}

interface ScanDirection {
  downward: boolean;
  backward: boolean;
  position: JobPosition | null;
}

function segmentsOf(field: JobOrderField, scan: ScanDirection): Sql[] {
  const { position, backward } = scan;
  if (field !== "scheduled_date")
    return [position ? afterPosition(field, scan.downward, position) : sql`true`];
  const dated = sql`job.scheduled_date is not null`;
  const undated = sql`job.scheduled_date is null`;
  if (!position) return [dated, undated];
  const afterPositionSql = afterPosition(field, scan.downward, position);
  if (position.value === null) return backward ? [afterPositionSql, dated] : [afterPositionSql];
  return backward ? [afterPositionSql] : [afterPositionSql, undated];
}

const sqlTypes = { created_at: "timestamptz", updated_at: "timestamptz", scheduled_date: "date" } as const;

function afterPosition(field: JobOrderField, downward: boolean, { value, id }: JobPosition): Sql {
  const operator = raw(downward ? "<" : ">");
  if (field === "marking_number") {
    // Safe to look up by id: Marking Numbers do not change, jobs are not deleted, and ids cannot be guessed.
    return sql`job.marking_number ${operator} (select marking_number from job where id = ${id}::uuid)`;
  }
  if (value === null) return sql`job.${raw(field)} is null and job.id ${operator} ${id}::uuid`;
  return sql`(job.${raw(field)}, job.id) ${operator} (${value}::${raw(sqlTypes[field])}, ${id}::uuid)`;
}

/** The position of `row`. In Marking Number order it has only the id, because a number could be too long for a cursor. */
export function positionOf({ field }: JobOrder, row: Pick<JobRow, "id" | JobOrderField>): JobPosition {
  return { value: field === "marking_number" ? null : orderValue(field, row), id: row.id };
}

/** The position of `row` as an opaque cursor. */
export function jobCursor(order: JobOrder, row: Pick<JobRow, "id" | JobOrderField>): string {
  const { value, id } = positionOf(order, row);
  return encodeCursor(cursorKind(order), order.field === "marking_number" ? [id] : [value, id]);
}

/** Returns null if `text` is not a cursor of this order. */
export function readJobCursor(order: JobOrder, text: string): JobPosition | null {
  const { field } = order;
  if (field === "marking_number") {
    const decoded = decodeCursor(cursorKind(order), z.tuple([z.guid()]), text);
    return decoded && { value: null, id: decoded[0] };
  }
  const decoded = decodeCursor(
    cursorKind(order),
    field === "scheduled_date" ? dateAndId : instantAndId,
    text,
  );
  return decoded && { value: decoded[0], id: decoded[1] };
}

const dateAndId = z.tuple([dateValue.nullable(), z.guid()]);
/** Instants as `jobCursor` writes them. PostgreSQL cannot read the year 0000. */
const instantAndId = z.tuple([z.iso.datetime({ precision: 3 }).regex(/^(?!0000)/), z.guid()]);

function cursorKind({ field, descending }: JobOrder): string {
  return `jobs ${descending ? "-" : ""}${field}`;
}

function orderValue(
  field: "created_at" | "updated_at" | "scheduled_date",
  row: Pick<JobRow, JobOrderField>,
): string | null {
  return field === "scheduled_date" ? row.scheduled_date : toIsoTime(row[field]);
}
