/** What editing many jobs would do, made of the jobs as they are and the answer of a dry run; and what became of it. */
import type { JobRowFragment } from "../../generated/job-row.ts";
import type { BulkOutcome, JobPatch, UpdateJobInput, UpdateJobsMutation } from "../../generated/edit-many.ts";
import type { FieldName } from "./job.fields.ts";
import { refusalSentence } from "./job.words.ts";

type Result = UpdateJobsMutation["updateJobs"]["results"][number];

export interface PlannedChange {
  field: FieldName;
  from: unknown;
  to: unknown;
}

export interface PlanRow {
  markingNumber: string;
  outcome: BulkOutcome;
  changes: PlannedChange[];
  /** Why it is refused; empty where it is not. */
  problems: string[];
}

export interface Plan {
  /** What is sent to be applied: those that would change, each at the version that was looked at. */
  items: UpdateJobInput[];
  rows: PlanRow[];
}

/** Each job at the version that was read: what changes meanwhile is refused and not overwritten. */
export function itemsOf(
  markingNumbers: readonly string[],
  before: ReadonlyMap<string, JobRowFragment>,
  patch: JobPatch,
): UpdateJobInput[] {
  return markingNumbers.map((markingNumber) => {
    const version = before.get(markingNumber)?.version;
    return { markingNumber, patch, ...(version !== undefined && { expectedVersion: version }) };
  });
}

export function planOf(
  items: readonly UpdateJobInput[],
  before: ReadonlyMap<string, JobRowFragment>,
  results: readonly Result[],
): Plan {
  const rows = results.map((result, index): PlanRow => {
    const item = items[index];
    return {
      ...rowOf(result),
      changes: item ? changesOf(item.patch, before.get(item.markingNumber), result.job) : [],
    };
  });
  return { rows, items: items.filter((_item, index) => rows[index]?.outcome === "UPDATED") };
}

function rowOf({ markingNumber, outcome, userErrors }: Result): PlanRow {
  return { markingNumber, outcome, changes: [], problems: userErrors.map(refusalSentence) };
}

function changesOf(
  patch: JobPatch,
  before: JobRowFragment | undefined,
  after: JobRowFragment | null,
): PlannedChange[] {
  if (!before || !after) return [];
  return (Object.keys(patch) as FieldName[])
    .map((field) => ({ field, from: before[field], to: after[field] }))
    .filter(({ from, to }) => from !== to);
}

export interface Outcome {
  updated: number;
  /** They held the values already. */
  unchanged: number;
  /** Refused, by the preview or when it was applied. */
  failed: PlanRow[];
}

export function outcomeOf(plan: Plan, applied: readonly Result[]): Outcome {
  const rows = applied.map(rowOf);
  return {
    updated: countOf(rows, "UPDATED"),
    unchanged: countOf(plan.rows, "UNCHANGED") + countOf(rows, "UNCHANGED"),
    failed: [...plan.rows, ...rows].filter(({ outcome }) => outcome === "FAILED"),
  };
}

function countOf(rows: readonly PlanRow[], outcome: BulkOutcome): number {
  return rows.filter((row) => row.outcome === outcome).length;
}
