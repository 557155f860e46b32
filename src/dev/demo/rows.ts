/** Converts demo jobs to database rows: each job in its final state, and one event per step. */
import { jobFieldNames, type JobPatch } from "../../jobs/api.ts";
import { newUuid } from "../../core/ids.ts";
import { MINUTE_MS, DAY_MS } from "../../core/time.ts";
import type { DemoJob, DemoStep } from "./generate-jobs.ts";

interface RowContext {
  agentIds: readonly string[];
  contractorIds: readonly string[];
  now: Date;
}

type DemoRow = Record<string, unknown>;

const EMPTY_JOB: DemoRow = {
  ...Object.fromEntries(jobFieldNames.map((name) => [name, null])),
  scheduled_delivery_pending: false,
  provider_status: null,
};

/** Returns the job rows, and the event rows in chronological order. */
export function demoRows(
  demoJobs: readonly DemoJob[],
  context: RowContext,
): { jobs: DemoRow[]; events: DemoRow[] } {
  const histories = demoJobs.map((demoJob, index) => historyRows(demoJob, index, context));
  const events = histories.flatMap(({ events: steps }) => steps);
  events.sort((one, other) => String(one["occurred_at"]).localeCompare(String(other["occurred_at"])));
  return { jobs: histories.map(({ job }) => job), events };
}

function historyRows(
  demoJob: DemoJob,
  index: number,
  { agentIds, contractorIds, now }: RowContext,
): { job: DemoRow; events: DemoRow[] } {
  const steps = withAssignment(demoJob);
  // Spread creation times over 8 hours, and shorten the steps so that none is in the future.
  const startMs = now.getTime() - demoJob.createdDaysAgo * DAY_MS - ((index * 37) % 480) * MINUTE_MS;
  const total = steps.reduce((minutes, step) => minutes + step.afterMinutes, 0);
  const timeScale = Math.min(1, (now.getTime() - startMs - 5 * MINUTE_MS) / (total * MINUTE_MS || 1));
  const contractorId = demoJob.contractor === null ? null : contractorIds[demoJob.contractor];
  let job: DemoRow = {
    ...EMPTY_JOB,
    id: newUuid(startMs),
    marking_number: demoJob.markingNumber,
    agent_id: agentIds[demoJob.agent],
    contractor_id: null,
    version: 0,
    created_at: new Date(startMs).toISOString(),
  };
  let ms = startMs;
  const events = steps.map((step) => {
    ms += step.afterMinutes * MINUTE_MS * timeScale;
    const next = "assign" in step ? { contractor_id: contractorId } : step.patch;
    const before = job;
    job = { ...job, ...next, version: Number(job["version"]) + 1, updated_at: new Date(ms).toISOString() };
    return eventOf(before, job, Object.keys(next), ms);
  });
  return { job, events };
}

type JobStep = DemoStep | { afterMinutes: number; assign: true };

/** Inserts the assignment before the status "assigned", or right after creation. */
function withAssignment({ contractor, steps }: DemoJob): JobStep[] {
  if (contractor === null) return steps;
  const assignedIndex = steps.findIndex(({ patch }) => patch.normalized_status === "assigned");
  const assignmentIndex = assignedIndex === -1 ? 1 : assignedIndex;
  return [
    ...steps.slice(0, assignmentIndex),
    { afterMinutes: 5, assign: true },
    ...steps.slice(assignmentIndex),
  ];
}

function eventOf(before: DemoRow, job: DemoRow, fields: readonly string[], ms: number): DemoRow {
  const changed = fields.filter((field) => before[field] !== job[field]);
  return {
    id: newUuid(ms),
    type: eventType(before, changed),
    job_id: job["id"],
    agent_id: job["agent_id"],
    contractor_id: job["contractor_id"],
    sequence: job["version"],
    actor_type: "system",
    actor_id: null,
    occurred_at: job["updated_at"],
    changes: Object.fromEntries(changed.map((field) => [field, { from: before[field], to: job[field] }])),
    job,
  };
}

function eventType(before: DemoRow, changed: readonly string[]): string {
  if (before["version"] === 0) return "job.created";
  if (changed.includes("contractor_id")) return "job.assigned";
  return changed.includes("normalized_status" satisfies keyof JobPatch)
    ? "job.status_changed"
    : "job.updated";
}
