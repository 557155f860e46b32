/** Values of jobs in words: codes by their labels, days as days. */
import { findField, fieldLabel, type FieldKind } from "./job.fields.ts";

/** What codes and ids are called. */
export interface ReferenceLabels {
  statuses: ReadonlyMap<string, string>;
  reasons: ReadonlyMap<string, string>;
  organizations: ReadonlyMap<string, string>;
}

const dayFormat = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeZone: "UTC" });
const numberFormat = new Intl.NumberFormat(undefined, { maximumFractionDigits: 6 });

export const NO_VALUE_LABEL = "nothing";

/** A value of a change, or of a form; null and the empty text are nothing. */
export function formatValue(field: string, value: unknown, names: ReferenceLabels): string {
  if (value === null || value === undefined || value === "") return NO_VALUE_LABEL;
  const text = isPrimitive(value) ? String(value) : JSON.stringify(value);
  const kind = findField(field)?.kind;
  return kind === undefined ? organizationName(text, names) : FORMATTERS[kind](text, names);
}

function isPrimitive(value: unknown): value is string | number | boolean {
  return ["string", "number", "boolean"].includes(typeof value);
}

function identity(given: string): string {
  return given;
}

function organizationName(id: string, { organizations }: ReferenceLabels): string {
  return organizations.get(id) ?? id;
}

function formatNumberInput(given: string): string {
  return Number.isFinite(Number(given)) ? formatNumber(Number(given)) : given;
}

const FORMATTERS: Record<FieldKind, (given: string, names: ReferenceLabels) => string> = {
  status: (code, { statuses }) => statuses.get(code) ?? code,
  reason: (code, { reasons }) => reasons.get(code) ?? code,
  date: formatDay,
  flag: (given) => (given === "true" ? "yes" : "no"),
  integer: formatNumberInput,
  number: formatNumberInput,
  text: identity,
  "long-text": identity,
};

export function formatDay(day: string): string {
  const instant = Date.parse(`${day}T00:00:00Z`);
  return Number.isNaN(instant) ? day : dayFormat.format(instant);
}

export function formatNumber(number: number): string {
  return numberFormat.format(number);
}

/** `12 jobs`. */
export function formatCount(count: number, singular: string, plural = `${singular}s`): string {
  return `${numberFormat.format(count)} ${count === 1 ? singular : plural}`;
}

interface JobUserError {
  readonly code: string;
  readonly field: string | null;
  readonly message: string;
}

/** The field of the form that a refusal is about: `items.3.patch.weight` is about `weight`. */
export function userErrorField({ field }: JobUserError): string | null {
  const name = field?.match(/(?:^|\.)patch\.(\w+)$/)?.[1];
  return name !== undefined && findField(name) ? name : null;
}

/** The server's sentence, with the field called as the page calls it. */
export function userErrorMessage(userError: JobUserError): string {
  if (userError.code === "CONFLICT") return "Somebody changed this job meanwhile.";
  return userError.message.replaceAll(/\bpatch\.(\w+)/g, (_path, name: string) => fieldLabel(name));
}
