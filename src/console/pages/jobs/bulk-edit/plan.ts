/** Builds the preview of a change of many jobs from a dry run, and the summary of its result. */
import type { JobRowFragment } from "../../../generated/job-row.ts";
import type {
  BulkChangeFragment,
  BulkOutcome,
  JobPatch,
  RescheduleJobInput,
} from "../../../generated/bulk-edit.ts";
import { jobFields, type FieldName } from "../job.fields.ts";
import { userErrorMessage } from "../job.labels.ts";

type ChangeResult = BulkChangeFragment["results"][number];

/** The change of every job. */
export type BulkChange =
  | { kind: "edit"; patch: JobPatch }
  | { kind: "reschedule"; dueDate: string; confirmed: boolean };

/** The fields that decide whether a job is late. */
const dueFields: readonly FieldName[] = ["scheduledDate", "scheduledDeliveryDate", "normalizedStatus"];

/** True if the change can make a job late, or no longer late. */
export function affectsLateness(change: BulkChange): boolean {
  return change.kind === "reschedule" || dueFields.some((name) => name in change.patch);
}

export interface PlannedChange {
  field: FieldName;
  from: unknown;
  to: unknown;
}

export interface BulkEditRow {
  markingNumber: string;
  outcome: BulkOutcome;
  /** Null if the job is not visible. */
  before: JobRowFragment | null;
  /** Null if the change was rejected. */
  after: JobRowFragment | null;
  changes: PlannedChange[];
  /** Reasons for a rejection; empty if there is none. */
  problems: string[];
}

export interface BulkEditPlan {
  change: BulkChange;
  /** The jobs that will change, each with the version that the preview was based on. */
  targets: RescheduleJobInput[];
  rows: BulkEditRow[];
}

/** Includes the version that was read, so that the server rejects jobs that change meanwhile. */
export function buildTargets(
  markingNumbers: readonly string[],
  before: ReadonlyMap<string, JobRowFragment>,
): RescheduleJobInput[] {
  return markingNumbers.map((markingNumber) => {
    const version = before.get(markingNumber)?.version;
    return { markingNumber, ...(version !== undefined && { expectedVersion: version }) };
  });
}

export function buildPlan(
  change: BulkChange,
  targets: readonly RescheduleJobInput[],
  before: ReadonlyMap<string, JobRowFragment>,
  results: readonly ChangeResult[],
): BulkEditPlan {
  const rows = results.map((result) => toRow(result, before.get(result.markingNumber) ?? null));
  return {
    change,
    rows,
    targets: targets.filter((_target, index) => rows[index]?.outcome === "UPDATED"),
  };
}

function toRow(
  { markingNumber, outcome, job, userErrors }: ChangeResult,
  before: JobRowFragment | null = null,
): BulkEditRow {
  const problems = userErrors.map(userErrorMessage);
  return { markingNumber, outcome, before, after: job, changes: plannedChanges(before, job), problems };
}

function plannedChanges(before: JobRowFragment | null, after: JobRowFragment | null): PlannedChange[] {
  if (!before || !after) return [];
  return jobFields
    .map(({ name: field }) => ({ field, from: before[field], to: after[field] }))
    .filter(({ from, to }) => from !== to);
}

export interface BulkEditResult {
  updated: number;
  /** Jobs that already had the values. */
  unchanged: number;
  /** Rejected by the preview or when the change was applied. */
  failed: BulkEditRow[];
}

export function buildResult(plan: BulkEditPlan, applied: readonly ChangeResult[]): BulkEditResult {
  const rows = applied.map((result) => toRow(result));
  return {
    updated: countByOutcome(rows, "UPDATED"),
    unchanged: countByOutcome(plan.rows, "UNCHANGED") + countByOutcome(rows, "UNCHANGED"),
    failed: [...plan.rows, ...rows].filter(({ outcome }) => outcome === "FAILED"),
  };
}

function countByOutcome(rows: readonly BulkEditRow[], outcome: BulkOutcome): number {
  return rows.filter((row) => row.outcome === outcome).length;
}
