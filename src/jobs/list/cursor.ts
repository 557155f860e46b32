/** Orders of the job list, and the cursors that continue it in REST and GraphQL. */
import { z } from "zod";
import { decodeCursor, encodeCursor } from "../../core/cursor.ts";
import { toIsoTime } from "../../core/time.ts";
import type { JobRow } from "../row.sql.ts";
import { dateValue } from "../values.ts";

export const jobOrderFields = [
  "created_at",
  "updated_at",
  "scheduled_date",
  "due_date",
  "marking_number",
] as const;
/** `id`: oldest job first, without a cursor. Exports of all organisations read the primary key in this order. */
export type JobOrderField = (typeof jobOrderFields)[number] | "id";

/** The id breaks ties in the same direction. Nulls are last in both directions. */
export interface JobOrder {
  field: JobOrderField;
  descending: boolean;
}

/** A row of the list: the value of the order column, which can be null, and the id. */
export interface JobPosition {
  /** Null in the order of ids, and in Marking Number order, because a number could be too long for a cursor. */
  value: string | null;
  id: string;
}

type PositionedRow = Pick<
  JobRow,
  "id" | "created_at" | "updated_at" | "scheduled_date" | "scheduled_delivery_date"
>;

const KIND = "jobs";
/** Times as `jobCursor` writes them. PostgreSQL cannot read the year 0000. */
const instantValue = z.iso.datetime({ precision: 3 }).regex(/^(?!0000)/);
const cursorShape = z.union([
  z.tuple([z.enum(["created_at", "-created_at", "updated_at", "-updated_at"]), instantValue, z.guid()]),
  z.tuple([
    z.enum(["scheduled_date", "-scheduled_date", "due_date", "-due_date"]),
    dateValue.nullable(),
    z.guid(),
  ]),
  z.tuple([z.enum(["marking_number", "-marking_number"]), z.null(), z.guid()]),
]);

export function positionOf({ field }: JobOrder, row: PositionedRow): JobPosition {
  if (field === "marking_number" || field === "id") return { value: null, id: row.id };
  return { value: valueOf(field, row), id: row.id };
}

function valueOf(field: Exclude<JobOrderField, "marking_number" | "id">, row: PositionedRow): string | null {
  if (field === "scheduled_date") return row.scheduled_date;
  if (field === "due_date") return row.scheduled_delivery_date ?? row.scheduled_date;
  return toIsoTime(row[field]);
}

/** The position of `row` as an opaque cursor. It contains the order. */
export function jobCursor(order: JobOrder, row: PositionedRow): string {
  const { value, id } = positionOf(order, row);
  return encodeCursor(KIND, [orderName(order), value, id]);
}

/** The order and position in a cursor; null if `text` is not a cursor of the job list. */
export function readJobCursor(text: string): { order: JobOrder; position: JobPosition } | null {
  const decoded = decodeCursor(KIND, cursorShape, text);
  if (!decoded) return null;
  const [name, value, id] = decoded;
  return { order: toOrder(name), position: { value, id } };
}

/** The order with this name, such as `-created_at` for a descending one. */
export function toOrder(name: string): JobOrder {
  const descending = name.startsWith("-");
  return { field: (descending ? name.slice(1) : name) as JobOrderField, descending };
}

export function orderName({ field, descending }: JobOrder): string {
  return `${descending ? "-" : ""}${field}`;
}
