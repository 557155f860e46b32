/** Builds the preview of a bulk edit from a dry run, and the summary of its result. */
import type { JobRowFragment } from "../../../generated/job-row.ts";
import type {
  BulkOutcome,
  JobPatch,
  UpdateJobInput,
  UpdateJobsMutation,
} from "../../../generated/bulk-edit.ts";
import type { FieldName } from "../job.fields.ts";
import { userErrorMessage } from "../job.labels.ts";

type UpdateResult = UpdateJobsMutation["updateJobs"]["results"][number];

export interface PlannedChange {
  field: FieldName;
  from: unknown;
  to: unknown;
}

export interface BulkEditRow {
  markingNumber: string;
  outcome: BulkOutcome;
  changes: PlannedChange[];
  /** Reasons for a rejection; empty if there is none. */
  problems: string[];
}

export interface BulkEditPlan {
  /** The jobs that will change, each with the version that the preview was based on. */
  items: UpdateJobInput[];
  rows: BulkEditRow[];
}

/** Includes the version that was read, so that the server rejects jobs that change meanwhile. */
export function buildItems(
  markingNumbers: readonly string[],
  before: ReadonlyMap<string, JobRowFragment>,
  patch: JobPatch,
): UpdateJobInput[] {
  return markingNumbers.map((markingNumber) => {
    const version = before.get(markingNumber)?.version;
    return { markingNumber, patch, ...(version !== undefined && { expectedVersion: version }) };
  });
}

export function buildPlan(
  items: readonly UpdateJobInput[],
  before: ReadonlyMap<string, JobRowFragment>,
  results: readonly UpdateResult[],
): BulkEditPlan {
  const rows = results.map((result, index): BulkEditRow => {
    const item = items[index];
    return {
      ...toRow(result),
      changes: item ? plannedChanges(item.patch, before.get(item.markingNumber), result.job) : [],
    };
  });
  return { rows, items: items.filter((_item, index) => rows[index]?.outcome === "UPDATED") };
}

function toRow({ markingNumber, outcome, userErrors }: UpdateResult): BulkEditRow {
  return { markingNumber, outcome, changes: [], problems: userErrors.map(userErrorMessage) };
}

function plannedChanges(
  patch: JobPatch,
  before: JobRowFragment | undefined,
  after: JobRowFragment | null,
): PlannedChange[] {
  if (!before || !after) return [];
  return (Object.keys(patch) as FieldName[])
    .map((field) => ({ field, from: before[field], to: after[field] }))
    .filter(({ from, to }) => from !== to);
}

export interface BulkEditResult {
  updated: number;
  /** Jobs that already had the values. */
  unchanged: number;
  /** Rejected by the preview or when the change was applied. */
  failed: BulkEditRow[];
}

export function buildResult(plan: BulkEditPlan, applied: readonly UpdateResult[]): BulkEditResult {
  const rows = applied.map(toRow);
  return {
    updated: countByOutcome(rows, "UPDATED"),
    unchanged: countByOutcome(plan.rows, "UNCHANGED") + countByOutcome(rows, "UNCHANGED"),
    failed: [...plan.rows, ...rows].filter(({ outcome }) => outcome === "FAILED"),
  };
}

function countByOutcome(rows: readonly BulkEditRow[], outcome: BulkOutcome): number {
  return rows.filter((row) => row.outcome === outcome).length;
}
