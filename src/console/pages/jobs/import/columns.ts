/** The columns of an import file, and a guess which column of a file holds which field. */

import type { Session } from "../../../app/session/session.ts";
import type { FileSample } from "./file-sample.ts";
import type { DateOrder, ImportPlan } from "./import-api.ts";

/** Such as 31/12/2026, in which day or month can come first. */
const OTHER_DATE = /^\d{1,2}(?<separator>[/.-])\d{1,2}\k<separator>\d{4}$/;

interface TargetColumn {
  name: string;
  label: string;
  /** Other names for the column, in lower case without spaces or punctuation. */
  aliases: readonly string[];
}

const targetColumn = (name: string, label: string, ...aliases: string[]): TargetColumn => ({
  name,
  label,
  aliases,
});

/** The API's field names, in the order of an export. */
export const targetColumns: readonly TargetColumn[] = [
  targetColumn(
    "marking_number",
    "Marking Number",
    "markingno",
    "marking",
    "trackingnumber",
    "trackingno",
    "tracking",
    "waybill",
  ),
  targetColumn("agent", "Agent", "agentname", "agentid", "shipper", "merchant"),
  targetColumn("contractor", "Contractor", "contractorname", "contractorid", "haulier", "courier"),
  targetColumn("batch_number", "Batch number", "batch", "batchno"),
  targetColumn("group_code", "Group code", "group", "area", "zone", "warehousearea"),
  targetColumn("piece_quantity", "Pieces", "pieces", "quantity", "qty", "pcs", "piecequantities"),
  targetColumn("labels", "Labels", "label", "tags"),
  targetColumn("pts", "PTS", "ptsvalue", "points"),
  targetColumn("weight", "Weight", "weightkg", "kg", "kilos", "grossweight"),
  targetColumn(
    "recipient_name",
    "Recipient",
    "recipient",
    "consignee",
    "receiver",
    "consigneename",
    "customername",
  ),
  targetColumn(
    "recipient_contact",
    "Recipient’s contact",
    "phone",
    "contact",
    "mobile",
    "telephone",
    "tel",
    "phonenumber",
    "contactnumber",
  ),
  targetColumn("delivery_address", "Delivery address", "address", "shippingaddress", "consigneeaddress"),
  targetColumn("postal_code", "Postal code", "postcode", "zip", "zipcode", "postal"),
  targetColumn("scheduled_date", "Scheduled date", "schedule", "date", "planneddate"),
  targetColumn("instructions", "Instructions", "deliveryinstructions", "remarks", "notes", "comments"),
  targetColumn("normalized_status", "Status", "status", "statuscode"),
  targetColumn("failure_reason", "Failure reason", "reason", "reasoncode", "failurecode"),
  targetColumn("scheduled_delivery_date", "Confirmed delivery date", "deliverydate", "confirmeddate"),
  targetColumn("scheduled_delivery_pending", "Delivery date pending", "deliverypending"),
  targetColumn("provider_status", "Carrier’s status", "carrierstatus", "couriersstatus"),
];

/** Columns that only operators set. */
const operatorColumns: ReadonlySet<string> = new Set(["agent", "provider_status"]);

/** The columns that the user can import. */
export function targetColumnsFor({ organization }: Pick<Session, "organization">): readonly TargetColumn[] {
  return organization === null
    ? targetColumns
    : targetColumns.filter(({ name }) => !operatorColumns.has(name));
}

const labelsByName: ReadonlyMap<string, string> = new Map(
  targetColumns.map(({ name, label }) => [name, label]),
);

export function columnLabel(name: string): string {
  return labelsByName.get(name) ?? name;
}

/** Lower case letters and digits only, so that `markingNumber` and `Marking Number` are equal. */
function normalizeName(name: string): string {
  return name
    .normalize("NFKD")
    .replaceAll(/[^\p{L}\p{N}]/gu, "")
    .toLowerCase();
}

function exactNames({ name, label }: TargetColumn): string[] {
  return [normalizeName(name), normalizeName(label)];
}

/**
 * The target column for each column of a file, or null. Each target is used once, and exact names win over aliases.
 */
export function guessMapping(names: readonly string[], targets: readonly TargetColumn[]): (string | null)[] {
  const repeated = repeatedNames(names);
  const mapping: (string | null)[] = names.map(() => null);
  for (const namesOf of [exactNames, (target: TargetColumn) => target.aliases]) {
    for (const [index, name] of names.entries()) {
      if (mapping[index] !== null || repeated.has(name)) continue;
      const match = targets.find(
        (target) => namesOf(target).includes(normalizeName(name)) && !mapping.includes(target.name),
      );
      mapping[index] = match?.name ?? null;
    }
  }
  return mapping;
}

/** Column names that occur more than once, and so cannot be mapped. */
export function repeatedNames(names: readonly string[]): ReadonlySet<string> {
  return new Set(names.filter((name, index) => names.indexOf(name) !== index));
}

const dateColumns: ReadonlySet<string | null> = new Set(["scheduled_date", "scheduled_delivery_date"]);

type DatePlan = Pick<ImportPlan, "format" | "mapping">;

/** True if the plan imports dates from cells: they can have the form 31/12/2026. */
export function hasDateOrder({ format, mapping }: DatePlan): boolean {
  return format !== "ndjson" && mapping.some((target) => dateColumns.has(target));
}

/** The dates of the first rows that are not YYYY-MM-DD. */
function otherDates(plan: DatePlan, rows: FileSample["rows"]): string[] {
  if (!hasDateOrder(plan)) return [];
  return rows.flatMap((row) =>
    row.filter((text, index) => dateColumns.has(plan.mapping[index] ?? null) && OTHER_DATE.test(text)),
  );
}

/** The order that the first rows allow only: 31/12/2026 has the day first. Null if they allow both or neither. */
export function guessDateOrder(plan: DatePlan, rows: FileSample["rows"]): DateOrder | null {
  const dates = otherDates(plan, rows).map((text) => text.split(/[/.-]/).map(Number));
  const isDayFirst = dates.some(([first = 0]) => first > 12);
  const isMonthFirst = dates.some(([, second = 0]) => second > 12);
  if (isDayFirst === isMonthFirst) return null;
  return isDayFirst ? "dmy" : "mdy";
}

/** Messages that prevent the import; empty if the plan is complete. `rows`: the first rows of the file. */
export function planProblems(plan: ImportPlan, rows: FileSample["rows"]): string[] {
  const [example] = otherDates(plan, rows);
  return [
    ...(plan.mapping.includes("marking_number") ? [] : ["Choose the column with the Marking Number."]),
    ...(example !== undefined && plan.dates === null
      ? [`Choose whether day or month comes first in dates such as ${example}.`]
      : []),
  ];
}
