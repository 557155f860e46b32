/** Generates the demo's jobs from a fixed random seed, as database rows: each job in its final state, and one event per change. */
import { jobFieldNames, type JobPatch } from "../../jobs/api.ts";
import { newUuid } from "../../core/ids.ts";
import { MINUTE_MS, DAY_MS } from "../../core/time.ts";
import words from "./words.json" with { type: "json" };

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
  contractor_id: null,
};

/** One change of a demo job, with its distance from the previous one. */
interface DemoStep {
  afterMinutes: number;
  patch: JobPatch & { contractor_id?: string | undefined };
}

/** Statuses of a successful delivery, in order. */
const ROUTE = [
  "pending",
  "at_warehouse",
  "scheduled",
  "assigned",
  "picked_up",
  "in_transit",
  "out_for_delivery",
  "completed",
] as const;

/** Percent of all jobs, the last status of the route, and the statuses after it. */
const ENDINGS: readonly (readonly [number, (typeof ROUTE)[number], ...string[]])[] = [
  [9, "pending"],
  [7, "at_warehouse"],
  [8, "scheduled"],
  [6, "assigned"],
  [3, "picked_up"],
  [8, "in_transit"],
  [7, "out_for_delivery"],
  [1, "out_for_delivery", "arrived"],
  [1, "in_transit", "ready_for_collection"],
  [36, "completed"],
  [2, "out_for_delivery", "partially_completed"],
  [5, "out_for_delivery", "failed"],
  [3, "at_warehouse", "on_hold"],
  [1, "out_for_delivery", "failed", "returning"],
  [2, "out_for_delivery", "failed", "returning", "returned"],
  [1, "pending", "cancelled"],
];

/** Returns the rows of `count` jobs, and their event rows in chronological order. */
export function demoRows(count: number, context: RowContext): { jobs: DemoRow[]; events: DemoRow[] } {
  const random = seededRandom(20_261_121);
  const histories = Array.from({ length: count }, (_, index) => generateHistory(index, random, context));
  const events = histories.flatMap(({ events: steps }) => steps);
  events.sort((one, other) => String(one["occurred_at"]).localeCompare(String(other["occurred_at"])));
  return { jobs: histories.map(({ job }) => job), events };
}

function generateHistory(
  index: number,
  random: () => number,
  { agentIds, contractorIds, now }: RowContext,
): { job: DemoRow; events: DemoRow[] } {
  const today = new Date(now.toISOString().slice(0, 10));
  const pick = <Value>(values: readonly Value[]): Value =>
    values[Math.floor(random() * values.length)] as Value;
  let remaining = random() * 100;
  const [, last, ...rest] = ENDINGS.find(([share]) => (remaining -= share) < 0) ?? [0, "completed"];
  const ending = rest.at(-1) ?? last;
  const isDone = ["completed", "partially_completed", "returned", "cancelled"].includes(ending);
  const createdDaysAgo = isDone ? 3 + Math.floor(random() * 42) : 1 + Math.floor(random() * random() * 9);
  const scheduled = addDays(today, -createdDaysAgo + 2 + Math.floor(random() * 3));
  // README uses the first job, so both demo keys must be able to see it.
  const agent = index === 0 || random() < 0.6 ? 0 : 1;
  const isEarly = ending === "pending" || ending === "at_warehouse";
  const initialPatch: JobPatch = {
    batch_number: `B-${addDays(today, -createdDaysAgo).replaceAll("-", "")}-${agent + 1}`,
    group_code: pick(words.areas),
    piece_quantity: 1 + Math.floor(random() * random() * 12),
    labels: pick(words.labels),
    pts: Math.round(random() * 400) / 10,
    weight: Math.round((0.2 + random() * random() * 40) * 100) / 100,
    recipient_name: `${pick(words.streets)} ${pick(words.trades)}`,
    recipient_contact: `+1 555 01${String(Math.floor(random() * 100)).padStart(2, "0")}`,
    delivery_address: `${1 + Math.floor(random() * 180)} ${pick(words.streets)}, Unit ${1 + Math.floor(random() * 20)}`,
    postal_code: String(10_000 + Math.floor(random() * 80_000)),
    scheduled_date: scheduled,
    instructions: pick(words.instructions),
    scheduled_delivery_pending: ending === "pending",
  };
  const stepTo = (status: string): DemoStep => {
    const reasons = status === "failed" || status === "on_hold" ? words.reasons[status] : null;
    return {
      afterMinutes: reasons ? 30 + Math.floor(random() * 240) : 60 + Math.floor(random() * 300),
      patch: {
        normalized_status: status,
        ...(status === "scheduled" && { scheduled_delivery_date: scheduled }),
        ...(reasons && { failure_reason: pick(reasons) }),
      },
    };
  };
  const path = [...ROUTE.slice(1, ROUTE.indexOf(last) + 1), ...rest].map(stepTo);
  if (index === 0 || !isEarly || random() >= 0.7) {
    const contractor_id = contractorIds[index === 0 ? 0 : Math.floor(random() * 3)];
    // Before the status "assigned", or right after creation.
    const position = path.findIndex(({ patch }) => patch.normalized_status === "assigned");
    path.splice(Math.max(position, 0), 0, { afterMinutes: 5, patch: { contractor_id } });
  }
  const steps = [{ afterMinutes: 0, patch: { normalized_status: "pending", ...initialPatch } }, ...path];
  // Spread creation times over 8 hours.
  const startMs = now.getTime() - createdDaysAgo * DAY_MS - ((index * 37) % 480) * MINUTE_MS;
  const job = { ...EMPTY_JOB, marking_number: `WM-${100_001 + index}`, agent_id: agentIds[agent] };
  return historyRows(job, steps, { startMs, endMs: now.getTime() - 5 * MINUTE_MS });
}

function addDays(day: Date, days: number): string {
  return new Date(day.getTime() + days * DAY_MS).toISOString().slice(0, 10);
}

/** The mulberry32 generator: the same numbers on every platform. */
function seededRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** Shortens the steps so that none is after `endMs`. */
function historyRows(
  created: DemoRow,
  steps: readonly DemoStep[],
  { startMs, endMs }: { startMs: number; endMs: number },
): { job: DemoRow; events: DemoRow[] } {
  const total = steps.reduce((minutes, step) => minutes + step.afterMinutes, 0);
  const timeScale = Math.min(1, (endMs - startMs) / (total * MINUTE_MS || 1));
  let job: DemoRow = { ...created, id: newUuid(startMs), created_at: new Date(startMs).toISOString() };
  let ms = startMs;
  const events = steps.map(({ afterMinutes, patch }, index) => {
    ms += afterMinutes * MINUTE_MS * timeScale;
    const before = job;
    const occurredAt = new Date(ms).toISOString();
    job = { ...before, ...patch, version: index + 1, updated_at: occurredAt };
    const changed = Object.entries(patch).filter(([field, to]) => before[field] !== to);
    const laterType = "contractor_id" in patch ? "job.assigned" : "job.status_changed";
    return {
      id: newUuid(ms),
      type: index === 0 ? "job.created" : laterType,
      job_id: job["id"],
      agent_id: job["agent_id"],
      contractor_id: job["contractor_id"],
      sequence: job["version"],
      actor_type: "system",
      actor_id: null,
      occurred_at: occurredAt,
      changes: Object.fromEntries(changed.map(([field, to]) => [field, { from: before[field], to }])),
      job,
    };
  });
  return { job, events };
}
