/** The orders of a list of jobs that is walked both ways by cursors, and the place in it that a cursor names. */
import { z } from "zod";
import { decodeCursor, encodeCursor } from "../../platform/cursor.ts";
import { raw, sql, type Sql } from "../../platform/postgres/sql.ts";
import { toIsoTime } from "../../platform/time.ts";
import type { JobPosition } from "./list-parameters.ts";
import type { JobRow } from "../job.row.ts";
import { dateValue } from "../job.values.ts";

export const jobOrderFields = ["created_at", "updated_at", "scheduled_date", "marking_number"] as const;
export type JobOrderField = (typeof jobOrderFields)[number];

/** The id breaks ties, in the same direction; nulls are last either way. */
export interface JobOrder {
  field: JobOrderField;
  descending: boolean;
}

/** How PostgreSQL goes through a list: from a place on, along an order or against it. */
export interface KeysetScan {
  /**
   * The rows beyond the place, in one piece or two: jobs with a value and jobs without lie apart in an index that is
   * read downwards, so each piece is read in the index's own order, `pieceOrder`.
   */
  segments: Sql[];
  segmentOrder: Sql;
  /** The order of all pieces together. */
  order: Sql;
}

/** `position` null: from the list's beginning, or from its end where it is walked backward. */
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
    // A number never changes, no job is deleted, and no id can be guessed: the look-up tells nobody anything new.
    return sql`job.marking_number ${operator} (select marking_number from job where id = ${id}::uuid)`;
  }
  if (value === null) return sql`job.${raw(field)} is null and job.id ${operator} ${id}::uuid`;
  return sql`(job.${raw(field)}, job.id) ${operator} (${value}::${raw(sqlTypes[field])}, ${id}::uuid)`;
}

/** The place of `row`. Of a Marking Number it is the id alone: the number itself could be longer than a cursor. */
export function positionOf({ field }: JobOrder, row: Pick<JobRow, "id" | JobOrderField>): JobPosition {
  return { value: field === "marking_number" ? null : orderValue(field, row), id: row.id };
}

/** The place of `row` as a text. */
export function jobCursor(order: JobOrder, row: Pick<JobRow, "id" | JobOrderField>): string {
  const { value, id } = positionOf(order, row);
  return encodeCursor(cursorKind(order), order.field === "marking_number" ? [id] : [value, id]);
}

/** Null where `text` is no cursor of this order. */
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
/** Instants as `jobCursor` writes them; the year 0000 is none that PostgreSQL could read. */
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
