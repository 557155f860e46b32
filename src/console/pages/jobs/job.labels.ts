/** Formats the values of jobs for display. */
import { formatDay, formatNumber } from "../../app/formats.ts";
import { findField, fieldLabel, type FieldKind } from "./job.fields.ts";

/** Labels by code or ID. */
export interface ReferenceLabels {
  statuses: ReadonlyMap<string, string>;
  reasons: ReadonlyMap<string, string>;
  organizations: ReadonlyMap<string, string>;
}

const NO_VALUE_LABEL = "empty";

export function isEmptyValue(value: unknown): boolean {
  return value === null || value === undefined || value === "";
}

/** Formats a value of a change or a form. Null and empty text become "empty". */
export function formatValue(field: string, value: unknown, labels: ReferenceLabels): string {
  if (isEmptyValue(value)) return NO_VALUE_LABEL;
  const text = isPrimitive(value) ? String(value) : JSON.stringify(value);
  const kind = findField(field)?.kind;
  return kind === undefined ? organizationName(text, labels) : FORMATTERS[kind](text, labels);
}

function isPrimitive(value: unknown): value is string | number | boolean {
  return ["string", "number", "boolean"].includes(typeof value);
}

function identity(text: string): string {
  return text;
}

function organizationName(id: string, { organizations }: ReferenceLabels): string {
  return organizations.get(id) ?? id;
}

function formatNumberInput(text: string): string {
  return Number.isFinite(Number(text)) ? formatNumber(Number(text)) : text;
}

const FORMATTERS: Record<FieldKind, (text: string, labels: ReferenceLabels) => string> = {
  status: (code, { statuses }) => statuses.get(code) ?? code,
  reason: (code, { reasons }) => reasons.get(code) ?? code,
  date: formatDay,
  flag: (text) => (text === "true" ? "yes" : "no"),
  integer: formatNumberInput,
  number: formatNumberInput,
  text: identity,
  "long-text": identity,
};

interface JobUserError {
  readonly code: string;
  readonly field: string | null;
  readonly message: string;
}

/** The form field that an error is about: `weight` for `items.3.patch.weight`. */
export function userErrorField({ field }: JobUserError): string | null {
  const name = field?.match(/(?:^|\.)patch\.(\w+)$/)?.[1];
  return name !== undefined && findField(name) ? name : null;
}

/** The server's message, with field names replaced by labels. */
export function userErrorMessage(userError: JobUserError): string {
  if (userError.code === "CONFLICT") return "Someone else changed this job.";
  return userError.message.replaceAll(/\bpatch\.(\w+)/g, (_path, name: string) => fieldLabel(name));
}
