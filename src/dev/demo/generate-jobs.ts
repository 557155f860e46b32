/** Generates the demo's jobs and their changes from a fixed random seed. */
import type { JobPatch } from "../../jobs/api.ts";
import { DAY_MS } from "../../core/time.ts";
import words from "./words.json" with { type: "json" };

/** One change of a demo job, with its distance from the previous one. */
export interface DemoStep {
  afterMinutes: number;
  patch: JobPatch;
}

export interface DemoJob {
  markingNumber: string;
  /** Index of the agent, 0 or 1. */
  agent: number;
  /** Index of the contractor, 0 to 2; null if not assigned. */
  contractor: number | null;
  createdDaysAgo: number;
  /** The first step creates the job. */
  steps: DemoStep[];
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

interface Ending {
  /** In percent of all jobs. */
  share: number;
  /** The last status of the route. */
  last: (typeof ROUTE)[number];
  /** The statuses after it. */
  rest?: string[];
}

const ENDINGS: readonly Ending[] = [
  { share: 9, last: "pending" },
  { share: 7, last: "at_warehouse" },
  { share: 8, last: "scheduled" },
  { share: 6, last: "assigned" },
  { share: 3, last: "picked_up" },
  { share: 8, last: "in_transit" },
  { share: 7, last: "out_for_delivery" },
  { share: 1, last: "out_for_delivery", rest: ["arrived"] },
  { share: 1, last: "in_transit", rest: ["ready_for_collection"] },
  { share: 36, last: "completed" },
  { share: 2, last: "out_for_delivery", rest: ["partially_completed"] },
  { share: 5, last: "out_for_delivery", rest: ["failed"] },
  { share: 3, last: "at_warehouse", rest: ["on_hold"] },
  { share: 1, last: "out_for_delivery", rest: ["failed", "returning"] },
  { share: 2, last: "out_for_delivery", rest: ["failed", "returning", "returned"] },
  { share: 1, last: "pending", rest: ["cancelled"] },
];

/** Returns `count` jobs; `today` is midnight UTC of the current day. */
export function generateJobs(count: number, today: Date): DemoJob[] {
  const random = seededRandom(20_261_121);
  return Array.from({ length: count }, (_, index) => generateJob(index, random, today));
}

function generateJob(index: number, random: () => number, today: Date): DemoJob {
  const pick = <Value>(values: readonly Value[]): Value =>
    values[Math.floor(random() * values.length)] as Value;
  const { last, rest = [] } = pickEnding(random);
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
  return {
    markingNumber: `WM-${String(100_001 + index)}`,
    agent,
    contractor: index === 0 ? 0 : isEarly && random() < 0.7 ? null : Math.floor(random() * 3),
    createdDaysAgo,
    steps: [{ afterMinutes: 0, patch: { normalized_status: "pending", ...initialPatch } }, ...path],
  };
}

function pickEnding(random: () => number): Ending {
  let remaining = random() * 100;
  const picked = ENDINGS.find(({ share }) => (remaining -= share) < 0);
  return picked ?? { share: 0, last: "completed" };
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
