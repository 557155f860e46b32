/** Values of jobs in words: codes by their labels, days as days. */
import { fieldOf, labelOfField, type FieldKind } from "./job.fields.ts";

/** What codes and ids are called. */
export interface Names {
  statuses: ReadonlyMap<string, string>;
  reasons: ReadonlyMap<string, string>;
  organizations: ReadonlyMap<string, string>;
}

const dayFormat = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeZone: "UTC" });
const numberFormat = new Intl.NumberFormat(undefined, { maximumFractionDigits: 6 });

export const NOTHING = "nothing";

/** A value of a change, or of a form; null and the empty text are nothing. */
export function inWords(field: string, value: unknown, names: Names): string {
  if (value === null || value === undefined || value === "") return NOTHING;
  const given = isPlain(value) ? String(value) : JSON.stringify(value);
  const kind = fieldOf(field)?.kind;
  return kind === undefined ? organizationWords(given, names) : WORDS[kind](given, names);
}

function isPlain(value: unknown): value is string | number | boolean {
  return ["string", "number", "boolean"].includes(typeof value);
}

function asItIs(given: string): string {
  return given;
}

function organizationWords(id: string, { organizations }: Names): string {
  return organizations.get(id) ?? id;
}

function numberInput(given: string): string {
  return Number.isFinite(Number(given)) ? numberWords(Number(given)) : given;
}

const WORDS: Record<FieldKind, (given: string, names: Names) => string> = {
  status: (code, { statuses }) => statuses.get(code) ?? code,
  reason: (code, { reasons }) => reasons.get(code) ?? code,
  date: dayWords,
  flag: (given) => (given === "true" ? "yes" : "no"),
  integer: numberInput,
  number: numberInput,
  text: asItIs,
  "long-text": asItIs,
};

export function dayWords(day: string): string {
  const instant = Date.parse(`${day}T00:00:00Z`);
  return Number.isNaN(instant) ? day : dayFormat.format(instant);
}

export function numberWords(number: number): string {
  return numberFormat.format(number);
}

/** `12 jobs`. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${numberFormat.format(count)} ${count === 1 ? one : many}`;
}

interface Refusal {
  readonly code: string;
  readonly field: string | null;
  readonly message: string;
}

/** The field of the form that a refusal is about: `items.3.patch.weight` is about `weight`. */
export function refusedField({ field }: Refusal): string | null {
  const name = field?.match(/(?:^|\.)patch\.(\w+)$/)?.[1];
  return name !== undefined && fieldOf(name) ? name : null;
}

/** The server's sentence, with the field called as the page calls it. */
export function refusalSentence(refusal: Refusal): string {
  if (refusal.code === "CONFLICT") return "Somebody changed this job meanwhile.";
  return refusal.message.replaceAll(/\bpatch\.(\w+)/g, (_path, name: string) => labelOfField(name));
}
