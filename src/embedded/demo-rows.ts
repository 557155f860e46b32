/** The demo's stories as rows: each job as it stands, and one event for each step that brought it there. */
import { jobFieldNames, type JobPatch } from "../jobs/job.fields.ts";
import { newUuid } from "../platform/ids.ts";
import type { DemoJob, DemoStep } from "./demo-story.ts";

interface Placing {
  agentIds: readonly string[];
  contractorIds: readonly string[];
  now: Date;
}

type Row = Record<string, unknown>;

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
const BLANK: Row = {
  ...Object.fromEntries(jobFieldNames.map((name) => [name, null])),
  scheduled_delivery_pending: false,
  provider_status: null,
};

/** Jobs and events in the order in which they happened. */
export function demoRows(stories: readonly DemoJob[], placing: Placing): { jobs: Row[]; events: Row[] } {
  const told = stories.map((story, at) => rowsOf(story, at, placing));
  const events = told.flatMap(({ events: steps }) => steps);
  events.sort((one, other) => String(one["occurred_at"]).localeCompare(String(other["occurred_at"])));
  return { jobs: told.map(({ job }) => job), events };
}

function rowsOf(
  story: DemoJob,
  at: number,
  { agentIds, contractorIds, now }: Placing,
): { job: Row; events: Row[] } {
  const steps = withAssignment(story);
  // Spread over the working day, and never later than now, however long the steps took.
  const startMs = now.getTime() - story.createdDaysAgo * DAY_MS - ((at * 37) % 480) * MINUTE_MS;
  const total = steps.reduce((minutes, step) => minutes + step.afterMinutes, 0);
  const pace = Math.min(1, (now.getTime() - startMs - 5 * MINUTE_MS) / (total * MINUTE_MS || 1));
  const contractorId = story.contractor === null ? null : contractorIds[story.contractor];
  let job: Row = {
    ...BLANK,
    id: newUuid(startMs),
    marking_number: story.markingNumber,
    agent_id: agentIds[story.agent],
    contractor_id: null,
    version: 0,
    created_at: new Date(startMs).toISOString(),
  };
  let ms = startMs;
  const events = steps.map((step) => {
    ms += step.afterMinutes * MINUTE_MS * pace;
    const next = "assign" in step ? { contractor_id: contractorId } : step.patch;
    const before = job;
    job = { ...job, ...next, version: Number(job["version"]) + 1, updated_at: new Date(ms).toISOString() };
    return eventOf(before, job, Object.keys(next), ms);
  });
  return { job, events };
}

type StoryStep = DemoStep | { afterMinutes: number; assign: true };

/** The assignment comes right after the job was made, or with the status that speaks of it. */
function withAssignment({ contractor, steps }: DemoJob): StoryStep[] {
  if (contractor === null) return steps;
  const spoken = steps.findIndex(({ patch }) => patch.normalized_status === "assigned");
  const place = spoken === -1 ? 1 : spoken;
  return [...steps.slice(0, place), { afterMinutes: 5, assign: true }, ...steps.slice(place)];
}

function eventOf(before: Row, job: Row, fields: readonly string[], ms: number): Row {
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

function eventType(before: Row, changed: readonly string[]): string {
  if (before["version"] === 0) return "job.created";
  if (changed.includes("contractor_id")) return "job.assigned";
  return changed.includes("normalized_status" satisfies keyof JobPatch)
    ? "job.status_changed"
    : "job.updated";
}
