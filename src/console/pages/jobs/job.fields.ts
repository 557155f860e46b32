/** The 16 editable fields of a job: labels, kinds, validation and conversion to and from form values. */
import type { JobRowFragment } from "../../generated/job-row.ts";
import type { JobPatch } from "../../generated/job.ts";

export type FieldName = keyof JobPatch;
export type FieldKind = "text" | "long-text" | "integer" | "number" | "date" | "flag" | "status" | "reason";

export interface JobField {
  name: FieldName;
  label: string;
  kind: FieldKind;
  group: FieldGroup;
  /** Maximum length in characters. */
  maxLength?: number;
  /** The field cannot be cleared. */
  isRequired?: boolean;
}

export const FIELD_GROUPS = ["Progress", "Schedule", "Delivery", "Goods"] as const;
export type FieldGroup = (typeof FIELD_GROUPS)[number];

export const jobFields: readonly JobField[] = [
  {
    name: "normalizedStatus",
    label: "Status",
    kind: "status",
    group: "Progress",
    maxLength: 64,
    isRequired: true,
  },
  { name: "failureReason", label: "Failure reason", kind: "reason", group: "Progress", maxLength: 64 },
  { name: "scheduledDate", label: "Scheduled date", kind: "date", group: "Schedule" },
  { name: "scheduledDeliveryDate", label: "Confirmed date", kind: "date", group: "Schedule" },
  {
    name: "scheduledDeliveryPending",
    label: "Confirmation pending",
    kind: "flag",
    group: "Schedule",
    isRequired: true,
  },
  { name: "recipientName", label: "Recipient", kind: "text", group: "Delivery", maxLength: 255 },
  { name: "recipientContact", label: "Contact", kind: "text", group: "Delivery", maxLength: 255 },
  {
    name: "deliveryAddress",
    label: "Delivery address",
    kind: "long-text",
    group: "Delivery",
    maxLength: 1000,
  },
  { name: "postalCode", label: "Postal code", kind: "text", group: "Delivery", maxLength: 60 },
  { name: "instructions", label: "Instructions", kind: "long-text", group: "Delivery", maxLength: 1000 },
  { name: "pieceQuantity", label: "Pieces", kind: "integer", group: "Goods" },
  { name: "weight", label: "Weight", kind: "number", group: "Goods" },
  { name: "pts", label: "PTS", kind: "number", group: "Goods" },
  { name: "labels", label: "Labels", kind: "text", group: "Goods", maxLength: 255 },
  { name: "batchNumber", label: "Batch number", kind: "text", group: "Goods", maxLength: 120 },
  { name: "groupCode", label: "Group code", kind: "text", group: "Goods", maxLength: 120 },
];

const fieldsByName = new Map<string, JobField>(jobFields.map((field) => [field.name, field]));

export function findField(name: string): JobField | undefined {
  return fieldsByName.get(name);
}

/** Fields that cannot be edited here but appear in the history. */
const OTHER_LABELS: Record<string, string> = {
  providerStatus: "Carrier's status",
  contractorId: "Contractor",
  agentId: "Agent",
  markingNumber: "Marking Number",
};

export function fieldLabel(name: string): string {
  return fieldsByName.get(name)?.label ?? OTHER_LABELS[name] ?? name;
}

/** Sort key: the order of the form, with other fields first (-1). */
export function fieldIndex(name: string): number {
  return jobFields.findIndex((field) => field.name === name);
}

/** Input values: text, and "true" or "false" for a flag. Empty text means no value. */
export type FormValues = Record<FieldName, string>;

type EditableJob = Pick<JobRowFragment, FieldName>;

export function toFormValues(job: EditableJob): FormValues {
  return Object.fromEntries(jobFields.map(({ name }) => [name, toInput(job[name])])) as FormValues;
}

function toInput(value: string | number | boolean | null): string {
  return value === null ? "" : String(value);
}

/**
 * Returns the form with another status. A failure reason explains a failure or hold: it goes with a status that `takesReason` is
 * false for, and the job's own comes back with a status that it is true for.
 */
export function withStatus(
  values: FormValues,
  status: string,
  base: FormValues,
  takesReason: (status: string) => boolean,
): FormValues {
  const { normalizedStatus: former, failureReason } = values;
  const own = takesReason(former) ? failureReason : failureReason || base.failureReason;
  return { ...values, normalizedStatus: status, failureReason: takesReason(status) ? own : "" };
}

/** The fields whose values differ from `base`. */
export function toPatch(base: FormValues, values: FormValues): JobPatch {
  const names = jobFields.map(({ name }) => name).filter((name) => base[name] !== values[name]);
  return buildPatch(names, values);
}

export function buildPatch(names: readonly FieldName[], values: FormValues): JobPatch {
  return Object.fromEntries(names.map((name) => [name, parseInput(name, values[name])])) as JobPatch;
}

function parseInput(name: FieldName, input: string): string | number | boolean | null {
  const kind = findField(name)?.kind;
  if (kind === "flag") return input === "true";
  if (isBlank(input)) return null;
  return kind === "integer" || kind === "number" ? Number(input.trim()) : input;
}

function isBlank(input: string): boolean {
  return input.trim() === "";
}

const MAX_INTEGER = 2_147_483_647;

/** The error message for an input; null if it is valid. The server validates again. */
function validateInput(
  { label, kind, maxLength, isRequired = false }: JobField,
  input: string,
): string | null {
  if (isBlank(input)) return isRequired ? `${label} is required` : null;
  if (kind === "integer" && !isPieceCount(input)) return `${label} must be a whole number of at least 1`;
  if (kind === "number" && !isNumber(input)) return `${label} must be a number such as 12.5`;
  // The server counts code points too.
  const { length } = Array.from(input);
  if (maxLength !== undefined && length > maxLength)
    return `${label} must be at most ${maxLength} characters long, but has ${length}`;
  return null;
}

function isPieceCount(input: string): boolean {
  const number = Number(input);
  return /^\s*\d+\s*$/.test(input) && number >= 1 && number <= MAX_INTEGER;
}

function isNumber(input: string): boolean {
  return /^\s*[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?\s*$/i.test(input) && Number.isFinite(Number(input));
}

/** Error messages by field; empty if all inputs are valid. */
export function validateInputs(
  names: readonly FieldName[],
  values: FormValues,
): Partial<Record<FieldName, string>> {
  const problems = names.flatMap((name) => {
    const field = findField(name);
    const problem = field && validateInput(field, values[name]);
    return problem ? [[name, problem] as const] : [];
  });
  return Object.fromEntries(problems) as Partial<Record<FieldName, string>>;
}
