/** A change of many jobs: its preview, which is a dry run of every job, the change itself, its report, and its undo. */
import type { JobRowFragment } from "../../../generated/job-row.ts";
import type {
  BulkChangeFragment,
  BulkOutcome,
  JobPatch,
  RescheduleJobInput,
  UpdateJobInput,
} from "../../../generated/bulk-edit.ts";
import type { JobFilter } from "../../../generated/jobs.ts";
import type { WithDueDates } from "../job.due.ts";
import { jobFields, type FieldName } from "../job.fields.ts";
import { userErrorMessage } from "../job.labels.ts";
import { startRun, type Run, type RunOptions, type RunState } from "./chunk-run.ts";

/** The API's limit for one request. */
export const CHUNK_SIZE = 100;

type ChangeResult = BulkChangeFragment["results"][number];

/** The jobs to change: those selected one by one, or all that match a filter. `total` is what the list counted. */
export type JobSet =
  | { kind: "selected"; markingNumbers: readonly string[] }
  | { kind: "matching"; filter: JobFilter | null; total: number };

export function countOf(jobs: JobSet): number {
  return jobs.kind === "selected" ? jobs.markingNumbers.length : jobs.total;
}

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

export interface JobsToChange {
  /** `job` is null if it is not visible. */
  jobs: readonly { markingNumber: string; job: JobRowFragment | null }[];
  /** Null after the last page. */
  next: string | null;
}

/** The requests to the API. Each has at most `CHUNK_SIZE` jobs. */
export interface BulkRequests {
  /**
   * A page of the jobs. The order must not depend on anything that changes, so that each job is read once although others join
   * and leave the filter.
   */
  read: (jobs: JobSet, after: string | null) => Promise<JobsToChange>;
  dryRun: (change: BulkChange, targets: readonly RescheduleJobInput[]) => Promise<readonly ChangeResult[]>;
  /** `key` names the request: repeated with the same key, it is applied once. */
  apply: (
    change: BulkChange,
    targets: readonly RescheduleJobInput[],
    key: string,
  ) => Promise<readonly ChangeResult[]>;
  /** Each item has its own change. */
  restore: (items: readonly UpdateJobInput[], key: string) => Promise<readonly ChangeResult[]>;
  retryAfterMs: RunOptions<unknown>["retryAfterMs"];
}

export interface PlannedChange {
  field: FieldName;
  from: unknown;
  to: unknown;
}

export interface PlannedJob {
  markingNumber: string;
  outcome: BulkOutcome;
  /** The version that the preview read; null if the job is not visible. */
  version: number | null;
  changes: readonly PlannedChange[];
  /** Why the job is refused; empty if it is not. */
  problem: string;
  before: WithDueDates | null;
  /** Null if the change is refused. */
  after: WithDueDates | null;
}

export interface Preview {
  jobs: readonly PlannedJob[];
  /** Null after the last page. */
  after: string | null;
  isRead: boolean;
}

export interface BulkPlan {
  change: BulkChange;
  jobs: readonly PlannedJob[];
}

/** A dry run of every job, page by page. */
export function startPreview(requests: BulkRequests, jobs: JobSet, change: BulkChange): Run<Preview> {
  return startRun<Preview>({
    first: { jobs: [], after: null, isRead: false },
    isLast: ({ isRead }) => isRead,
    retryAfterMs: requests.retryAfterMs,
    async step(former) {
      const page = await requests.read(jobs, former.after);
      const targets = page.jobs.map(({ markingNumber, job }) =>
        toTarget(markingNumber, job?.version ?? null),
      );
      const results = targets.length === 0 ? [] : await requests.dryRun(change, targets);
      const planned = page.jobs.map(({ job }, index) => toPlannedJob(results[index] as ChangeResult, job));
      return { jobs: [...former.jobs, ...planned], after: page.next, isRead: page.next === null };
    },
  });
}

/** With the version that was read, so that the server refuses jobs that change meanwhile. */
function toTarget(markingNumber: string, version: number | null): RescheduleJobInput {
  return { markingNumber, ...(version !== null && { expectedVersion: version }) };
}

function toPlannedJob(result: ChangeResult, before: JobRowFragment | null): PlannedJob {
  const { markingNumber, outcome, job: after } = result;
  return {
    markingNumber,
    outcome,
    version: before?.version ?? null,
    changes: changedFields(before, after),
    problem: problemOf(result),
    before: before && withDueDates(before),
    after: after && withDueDates(after),
  };
}

/** A run can have many thousand jobs, so only what decides about lateness is kept. */
function withDueDates({ scheduledDate, scheduledDeliveryDate, status }: JobRowFragment): WithDueDates {
  return { scheduledDate, scheduledDeliveryDate, status };
}

function changedFields(before: JobRowFragment | null, after: JobRowFragment | null): PlannedChange[] {
  if (!before || !after) return [];
  return jobFields
    .map(({ name: field }) => ({ field, from: before[field], to: after[field] }))
    .filter(({ from, to }) => from !== to);
}

function problemOf({ userErrors }: ChangeResult): string {
  return userErrors.map(userErrorMessage).join(" ");
}

/** The outcome of a job, and the data for its undo. */
export interface ChangedJob {
  markingNumber: string;
  outcome: BulkOutcome;
  problem: string;
  /** The version after the change. */
  version: number | null;
  /** The former values of the changed fields. */
  former: JobPatch;
}

/** The jobs that a run changes, and their outcomes so far, in the same order. */
export interface ChangeRun {
  run: Run<readonly ChangedJob[]>;
  markingNumbers: readonly string[];
}

/** Changes the jobs that the preview would change. `key` is unique for this run. */
export function startChange(requests: BulkRequests, plan: BulkPlan, key: string): ChangeRun {
  const jobs = plan.jobs.filter(({ outcome }) => outcome === "UPDATED");
  return startChunks(jobs, requests, async (chunk, at) => {
    const targets = chunk.map(({ markingNumber, version }) => toTarget(markingNumber, version));
    const results = await requests.apply(plan.change, targets, `${key}-${at}`);
    return results.map((result, index) => toChangedJob(result, formerValues(chunk[index]?.changes ?? [])));
  });
}

/** Restores the former values of the jobs that the run changed, unless anything else has changed them since. */
export function startUndo(requests: BulkRequests, changed: readonly ChangedJob[], key: string): ChangeRun {
  const jobs = changed.filter(({ outcome }) => outcome === "UPDATED");
  return startChunks(jobs, requests, async (chunk, at) => {
    const items = chunk.map(({ markingNumber, version, former }) => ({
      ...toTarget(markingNumber, version),
      patch: former,
    }));
    const results = await requests.restore(items, `${key}-${at}`);
    return results.map((result) => toChangedJob(result, {}));
  });
}

function startChunks<Job extends { markingNumber: string }>(
  jobs: readonly Job[],
  { retryAfterMs }: BulkRequests,
  send: (chunk: readonly Job[], at: number) => Promise<ChangedJob[]>,
): ChangeRun {
  const run = startRun<readonly ChangedJob[]>({
    first: [],
    isLast: ({ length }) => length >= jobs.length,
    retryAfterMs,
    step: async (former) => [
      ...former,
      ...(await send(jobs.slice(former.length, former.length + CHUNK_SIZE), former.length)),
    ],
  });
  return { run, markingNumbers: jobs.map(({ markingNumber }) => markingNumber) };
}

function toChangedJob(result: ChangeResult, former: JobPatch): ChangedJob {
  const { markingNumber, outcome, job } = result;
  return { markingNumber, outcome, problem: problemOf(result), version: job?.version ?? null, former };
}

function formerValues(changes: readonly PlannedChange[]): JobPatch {
  return Object.fromEntries(changes.map(({ field, from }) => [field, from])) as JobPatch;
}

export interface Refusal {
  problem: string;
  markingNumbers: readonly string[];
}

export interface BulkReport {
  changed: readonly string[];
  /** Jobs that already had the values. */
  unchanged: readonly string[];
  /** Refused by the preview or by the change, the most frequent reason first. */
  refused: readonly Refusal[];
  /** Their request was sent and had no response. */
  uncertain: readonly string[];
  notTried: readonly string[];
}

type ReportedJob = Pick<ChangedJob, "markingNumber" | "outcome" | "problem">;

/** `mayHaveApplied`: whether the server can have applied a request that failed with this error. */
export function buildReport(
  { markingNumbers }: ChangeRun,
  { result, interruption }: Pick<RunState<readonly ChangedJob[]>, "result" | "interruption">,
  {
    preview = [],
    mayHaveApplied,
  }: { preview?: readonly ReportedJob[]; mayHaveApplied: (error: unknown) => boolean },
): BulkReport {
  const decided = [...preview.filter(({ outcome }) => outcome !== "UPDATED"), ...result];
  const numbersOf = (outcome: BulkOutcome): string[] =>
    decided.filter((job) => job.outcome === outcome).map(({ markingNumber }) => markingNumber);
  const open = markingNumbers.slice(result.length);
  const uncertainCount = interruption && mayHaveApplied(interruption.error) ? CHUNK_SIZE : 0;
  return {
    changed: numbersOf("UPDATED"),
    unchanged: numbersOf("UNCHANGED"),
    refused: groupRefusals(decided),
    uncertain: open.slice(0, uncertainCount),
    notTried: open.slice(uncertainCount),
  };
}

/** The refused jobs by reason, the most frequent first. */
export function groupRefusals(jobs: readonly ReportedJob[]): Refusal[] {
  const refused = jobs.filter(({ outcome }) => outcome === "FAILED");
  return [...Map.groupBy(refused, ({ problem }) => problem)]
    .map(([problem, group]) => ({ problem, markingNumbers: group.map(({ markingNumber }) => markingNumber) }))
    .toSorted((one, other) => other.markingNumbers.length - one.markingNumbers.length);
}
