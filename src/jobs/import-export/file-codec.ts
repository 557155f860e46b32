/** Jobs as a file of rows, imported and exported: its columns, and each value as the text of a CSV cell. */
import type { CsvCell } from "../../platform/records/csv.ts";
import { AppError } from "../../platform/errors.ts";
import { toTypedId } from "../../platform/ids.ts";
import { suggestClosest } from "../../platform/suggest.ts";
import { jobFieldNames, jobFields, type JobFieldName } from "../job.fields.ts";
import type { JobRowWithOwners } from "../job.row.ts";

/** The columns, in the order of an export. A file to import has any of them in any order. */
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

/** An organisation's name is never empty, so that an empty cell names none, in quotes or not. */
const organizationColumns: ReadonlySet<string> = new Set(["agent", "contractor"]);
const knownColumns: ReadonlySet<string> = new Set(fileColumns);
const editableColumns: ReadonlySet<string> = new Set(jobFieldNames);
const booleanTexts: ReadonlyMap<string, boolean> = new Map([
  ["true", true],
  ["false", false],
]);

/** What a cell's text says. Text that says no value of its kind stays as it is, for the field's own check to refuse. */
const cellParsers: Record<FieldKind, (text: string) => FileValue> = {
  text: (text) => text,
  date: (text) => text,
  integer: (text) => (/^-?\d+$/.test(text) ? Number(text) : text),
  number: (text) => (/^-?\d+(\.\d+)?(e[+-]?\d+)?$/i.test(text) ? Number(text) : text),
  boolean: (text) => booleanTexts.get(text) ?? text,
};

export function isFileColumn(name: string): name is FileColumn {
  return knownColumns.has(name);
}

export function isJobField(name: FileColumn): name is JobFieldName {
  return editableColumns.has(name);
}

/** Whether anything may stand in it, rather than a number or a date. */
export function isTextColumn(name: FileColumn): boolean {
  return !isJobField(name) || jobFields[name].kind === "text";
}

/** Why a name is no column, as a predicate, with the one that was probably meant. */
export function unknownColumnMessage(name: string): string {
  const nearest = suggestClosest(name, fileColumns);
  return `is not a column of jobs${nearest === null ? "" : `; did you mean ${nearest}?`}`;
}

/** A file's own names for columns, with what each stands for. What it does not name is left out. */
export type ColumnMapping = ReadonlyMap<string, FileColumn>;

/**
 * The columns that a header names, null for one that is left out. Throws BadRequestException where it names one twice, not
 * all of `needed`, or others: without `names` a column is called as it is here, and none is left out.
 */
export function parseHeader(
  cells: readonly CsvCell[],
  required: readonly FileColumn[],
  mapping?: ColumnMapping,
): (FileColumn | null)[] {
  const columns: (FileColumn | null)[] = [];
  for (const { text } of cells) {
    const quotedName = JSON.stringify(text ?? "(not UTF-8)");
    const column = mapping ? mappedColumn(text, mapping) : standardColumn(text, quotedName);
    if (column !== null && columns.includes(column))
      throw invalidHeader(`The column ${quotedName} stands twice in the header`);
    columns.push(column);
  }
  for (const [name, column] of mapping ?? [])
    if (!columns.includes(column)) throw invalidHeader(`The header has no column ${JSON.stringify(name)}`);
  const missing = required.find((column) => !columns.includes(column));
  if (missing !== undefined) throw invalidHeader(`The header has no column ${missing}`);
  return columns;
}

function mappedColumn(text: string | null, mapping: ColumnMapping): FileColumn | null {
  return text === null ? null : (mapping.get(text) ?? null);
}

function standardColumn(text: string | null, quotedName: string): FileColumn {
  if (text !== null && isFileColumn(text)) return text;
  throw invalidHeader(`The column ${quotedName} ${unknownColumnMessage(text ?? "")}`);
}

export function invalidHeader(message: string): AppError {
  return new AppError("BadRequestException", message, { details: { known_columns: fileColumns } });
}

/** The value of a cell: null where nothing stands in it, an empty string where that is in quotes and can be one. */
export function parseCell(column: FileColumn, text: string, isQuoted: boolean): FileValue {
  const kind = isJobField(column) ? jobFields[column].kind : "text";
  if (text === "" && !(isQuoted && kind === "text" && !organizationColumns.has(column))) return null;
  return cellParsers[kind](text);
}

/** The text of a value, which `valueOfCell` reads back as the same; null where the cell is left empty. */
export function formatCell(value: FileValue): string | null {
  return value === null ? null : String(value);
}

/** A job as a row of a file: organisations by their ids, since their names may change. */
export function toFileRow(job: JobRowWithOwners): Record<FileColumn, FileValue> {
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
