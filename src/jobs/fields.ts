/**
 * The 16 fields that a partner can edit, each with its accepted values and its column. The REST bodies, the OpenAPI
 * document, the entity, the update statement and the import are derived from them.
 */
import { p } from "@mikro-orm/postgresql";
import { z } from "zod";
import { knownFailureReasons, knownStatuses } from "./known-codes.ts";
import { booleanValue, dateValue, integerValue, numberValue, textValue } from "./values.ts";

type FieldKind = "text" | "integer" | "number" | "date" | "boolean";

interface Field<Value extends z.ZodType, Column> {
  /** Decides how a CSV cell is parsed. */
  readonly kind: FieldKind;
  readonly value: Value;
  readonly column: Column;
}

function field<Value extends z.ZodType, Column>(
  kind: FieldKind,
  value: Value,
  column: Column,
): Field<Value, Column> {
  return { kind, value, column };
}

const text = (max: number, describe: string, example: string, meta: object = {}) =>
  field(
    "text",
    textValue(max)
      .nullable()
      .meta({ ...meta, description: describe, examples: [example] }),
    p.text().nullable(),
  );
const date = (describe: string, example: string) =>
  field(
    "date",
    dateValue.nullable().meta({ description: describe, examples: [example] }),
    p.type("date").$type<string>().nullable(),
  );
const number = (describe: string, example: number) =>
  field(
    "number",
    numberValue.nullable().meta({ description: describe, examples: [example] }),
    p.double().nullable(),
  );

export const jobFields = {
  batch_number: text(120, "Batch Number", "B-2026-118"),
  group_code: text(120, "Warehouse area or group code", "EAST-2"),
  piece_quantity: field(
    "integer",
    integerValue(1)
      .nullable()
      .meta({ description: "Number of pieces", examples: [3] }),
    p.integer().nullable(),
  ),
  labels: text(255, "Optional labels", "fragile,cold"),
  pts: number("PTS value; without a unit, stored as sent", 12.5),
  weight: number("Weight; without a unit, stored as sent", 8.25),
  recipient_name: text(255, "Recipient name", "Harbour Street Bakery"),
  recipient_contact: text(255, "Recipient phone or contact", "+1 555 0134"),
  delivery_address: text(1000, "Delivery address", "12 Harbour Street, #04-01"),
  postal_code: text(60, "Postal code", "049315"),
  scheduled_date: date("Scheduled delivery date", "2026-11-24"),
  instructions: text(1000, "Delivery instructions", "Leave with the concierge"),
  normalized_status: field(
    "text",
    textValue(64).meta({
      ...knownStatuses,
      description: "Platform status code; see GET /v1/reference/statuses",
      examples: ["completed"],
    }),
    p.text().default("pending"),
  ),
  failure_reason: text(
    64,
    "Failure or on-hold reason code; any text is accepted, the catalogue is advice",
    "wrong_incomplete_address",
    knownFailureReasons,
  ),
  scheduled_delivery_date: date("Confirmed scheduled delivery date", "2026-11-25"),
  scheduled_delivery_pending: field(
    "boolean",
    booleanValue.meta({ description: "Whether scheduled delivery is still pending", examples: [false] }),
    p.boolean().default(false),
  ),
} as const;

export type JobFieldName = keyof typeof jobFields;
export const jobFieldNames = Object.keys(jobFields) as JobFieldName[];

type JobFieldShape = { [Name in JobFieldName]: z.ZodOptional<(typeof jobFields)[Name]["value"]> };
type JobFieldColumns = { [Name in JobFieldName]: (typeof jobFields)[Name]["column"] };

/** The zod shape of a patch: every editable field, each optional. */
export const jobPatchShape = Object.fromEntries(
  jobFieldNames.map((name) => [name, jobFields[name].value.optional()]),
) as JobFieldShape;

export const jobFieldColumns = Object.fromEntries(
  jobFieldNames.map((name) => [name, jobFields[name].column]),
) as JobFieldColumns;

export const jobPatchSchema = z.object(jobPatchShape);

/** A change to one job: an absent field keeps its value, null clears it. */
export type JobPatch = z.output<typeof jobPatchSchema>;
