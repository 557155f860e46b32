/** The columns of import and export files, and the conversion of values from and to CSV cells. */
import type { CsvCell } from "../../core/records/csv.ts";
import { AppError } from "../../core/errors.ts";
import { unescapeFormulas } from "../../core/records/formula-escaping.ts";
import { toTypedId } from "../../core/ids.ts";
import { suggestClosest } from "../../core/did-you-mean.ts";
import { jobFieldNames, jobFields, type JobFieldName } from "../fields.ts";
import type { JobRow } from "../row.sql.ts";

/** The columns in the order of an export. An imported file can have any of them in any order. */
export const fileColumns = [
  "marking_number",
  "agent",
  "contractor",
  ...jobFieldNames,
  "provider_status",
] as const;
export type FileColumn = (typeof fileColumns)[number];
export type FileValue = string | number | boolean | null;
type FieldKind = (typeof jobFields)[JobFieldName]["kind"];

/** The order of day, month and year in a file whose dates are not YYYY-MM-DD, such as 31/12/2026. */
export const dateOrders = ["dmy", "mdy"] as const;
export type DateOrder = (typeof dateOrders)[number];
const NUMERIC_DATE = /^(?<first>\d{1,2})(?<separator>[/.-])(?<second>\d{1,2})\k<separator>(?<year>\d{4})$/;

/** An empty cell in these columns means null even if it is quoted, because no organisation has an empty name. */
const organizationColumns: ReadonlySet<string> = new Set(["agent", "contractor"]);
const knownColumns: ReadonlySet<string> = new Set(fileColumns);
const editableColumns: ReadonlySet<string> = new Set(jobFieldNames);
const booleanTexts: ReadonlyMap<string, boolean> = new Map([
  ["true", true],
  ["false", false],
]);

/** Parse a cell. Invalid text is returned unchanged, so that the field's validation reports it. */
const cellParsers: Record<FieldKind, (text: string, dates: DateOrder | undefined) => FileValue> = {
  text: (text) => text,
  date: (text, dates) => (dates ? toIsoDate(text, dates) : text),
  integer: (text) => (/^-?\d+$/.test(text) ? Number(text) : text),
  number: (text) => (/^-?\d+(\.\d+)?(e[+-]?\d+)?$/i.test(text) ? Number(text) : text),
  // Spreadsheets write TRUE, and pandas True.
  boolean: (text) => booleanTexts.get(text.toLowerCase()) ?? text,
};

function toIsoDate(text: string, order: DateOrder): string {
  const { first = "", second = "", year } = NUMERIC_DATE.exec(text)?.groups ?? {};
  if (year === undefined) return text;
  const [day, month] = order === "dmy" ? [first, second] : [second, first];
  return `${year}-${month.padStart(2, "0")}-${day.padStart(2, "0")}`;
}

export function isFileColumn(name: string): name is FileColumn {
  return knownColumns.has(name);
}

function isJobField(name: FileColumn): name is JobFieldName {
  return editableColumns.has(name);
}

/** True if the column holds free text rather than a number, date or boolean. */
export function isTextColumn(name: FileColumn): boolean {
  return !isJobField(name) || jobFields[name].kind === "text";
}

/** Message for an unknown column, without a subject. `nearest`: the known column that may be meant. */
export function unknownColumnMessage(nearest: string | null): string {
  return `is not a column of jobs${nearest === null ? "" : `; did you mean ${nearest}?`}`;
}

export const NOT_UTF8 = "is not valid UTF-8; save the file as “CSV UTF-8”";

/** Maps the column names of a file to ours. Columns of the file that are not mapped are ignored. */
export type ColumnMapping = ReadonlyMap<string, FileColumn>;

/**
 * The columns of a header, null for an ignored one. Throws BadRequestException if a column is duplicated, a mapped one or the Marking
 * Number is missing or, without a mapping, one is unknown.
 */
export function parseHeader(cells: readonly CsvCell[], mapping?: ColumnMapping): (FileColumn | null)[] {
  const columns = cells.map(({ text }): FileColumn | null => {
    if (mapping) return mapping.get(text ?? "") ?? null;
    if (text === null) throw invalidHeader(`The header ${NOT_UTF8}`);
    if (isFileColumn(text)) return text;
    const message = unknownColumnMessage(suggestClosest(text, fileColumns));
    throw invalidHeader(`The column ${JSON.stringify(text)} ${message}`);
  });
  const repeated = columns.findIndex((column, index) => column !== null && columns.indexOf(column) < index);
  if (repeated >= 0)
    throw invalidHeader(`The header has the column ${JSON.stringify(cells[repeated]?.text)} twice`);
  for (const [name, column] of mapping ?? [])
    if (!columns.includes(column)) throw invalidHeader(`The header has no column ${JSON.stringify(name)}`);
  if (!columns.includes("marking_number")) throw invalidHeader("The header has no column marking_number");
  return columns;
}

export function invalidHeader(message: string): AppError {
  return new AppError("BadRequestException", message, { details: { known_columns: fileColumns } });
}

/**
 * The value of a cell. An empty cell is null; a quoted empty cell of a text field is an empty string. Every text is unescaped: all
 * our exports are escaped so, and a byte order mark comes and goes when a spreadsheet saves a file.
 */
export function parseCell(column: FileColumn, cell: CsvCell | undefined, dates?: DateOrder): FileValue {
  const kind = isJobField(column) ? jobFields[column].kind : "text";
  const { text: written, isQuoted } = cell ?? { text: null, isQuoted: false };
  const text = kind === "text" ? unescapeFormulas(written ?? "") : (written ?? "");
  if (text === "" && !(isQuoted && kind === "text" && !organizationColumns.has(column))) return null;
  return cellParsers[kind](text, dates);
}

/** A job as a row of a file. Organisations are written as ids, because names can change. */
export function toFileRow(job: JobRow): Record<FileColumn, FileValue> {
  const { marking_number, agent_id, contractor_id, provider_status } = job;
  const fields = Object.fromEntries(jobFieldNames.map((name) => [name, job[name]])) as Record<
    JobFieldName,
    FileValue
  >;
  return {
    marking_number,
    agent: toTypedId("org", agent_id),
    contractor: contractor_id === null ? null : toTypedId("org", contractor_id),
    ...fields,
    provider_status,
  };
}
