/** Generates the demo's jobs and their changes from a fixed random seed. */
import type { JobPatch } from "../../jobs/api.ts";

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

const STREETS = [
  "Harbour Street",
  "Mill Lane",
  "Station Road",
  "Garden Avenue",
  "Foundry Row",
  "Orchard Close",
  "Quay Parade",
  "Market Square",
  "Canal Walk",
  "Hilltop Drive",
];
const TRADES = [
  "Bakery",
  "Pharmacy",
  "Bookshop",
  "Workshop",
  "Dental Practice",
  "Coffee House",
  "Print Studio",
  "Garden Centre",
  "Bicycle Repair",
  "Primary School",
];
const AREAS = ["NORTH-1", "NORTH-2", "EAST-1", "EAST-2", "SOUTH-1", "WEST-1"];
const LABELS = ["fragile", "cold chain", "signature", "fragile,signature", null, null, null, null];
const INSTRUCTIONS = [
  "Leave at the reception",
  "Call on arrival",
  "Use the loading bay at the back",
  "Deliver before noon",
  null,
  null,
  null,
];
/** Repeated entries are more likely. */
const FAILURE_REASONS = [
  "recipient_unavailable",
  "recipient_unavailable",
  "recipient_unavailable",
  "wrong_incomplete_address",
  "wrong_incomplete_address",
  "business_closed",
  "access_restricted",
  "recipient_refused",
  "address_not_found",
  "severe_weather",
];
const HOLD_REASONS = [
  "awaiting_instructions",
  "payment_not_received",
  "reschedule_requested",
  "customs_hold",
];

/** Final statuses, with their share in percent. */
const ENDINGS: readonly [share: number, ending: Ending][] = [
  [9, "pending"],
  [7, "at_warehouse"],
  [8, "scheduled"],
  [6, "assigned"],
  [3, "picked_up"],
  [8, "in_transit"],
  [7, "out_for_delivery"],
  [1, "arrived"],
  [1, "ready_for_collection"],
  [36, "completed"],
  [2, "partially_completed"],
  [5, "failed"],
  [3, "on_hold"],
  [1, "returning"],
  [2, "returned"],
  [1, "cancelled"],
];
type Ending =
  | (typeof DELIVERED_PATH)[number]
  | "failed"
  | "on_hold"
  | "returning"
  | "returned"
  | "cancelled"
  | "partially_completed"
  | "ready_for_collection"
  | "arrived";

/** Statuses of a successful delivery, in order. */
const DELIVERED_PATH = [
  "pending",
  "at_warehouse",
  "scheduled",
  "assigned",
  "picked_up",
  "in_transit",
  "out_for_delivery",
  "completed",
] as const;

/** Returns `count` jobs; `today` is midnight UTC of the current day. */
export function generateJobs(count: number, today: Date): DemoJob[] {
  const random = seededRandom(20_261_121);
  return Array.from({ length: count }, (_, index) => generateJob(index, random, today));
}

function generateJob(index: number, random: () => number, today: Date): DemoJob {
  const pick = <Value>(values: readonly Value[]): Value =>
    values[Math.floor(random() * values.length)] as Value;
  const ending = pickEnding(random);
  const isDone = ["completed", "partially_completed", "returned", "cancelled"].includes(ending);
  const createdDaysAgo = isDone ? 3 + Math.floor(random() * 42) : 1 + Math.floor(random() * random() * 9);
  const scheduled = addDays(today, -createdDaysAgo + 2 + Math.floor(random() * 3));
  // README uses the first job, so both demo keys must be able to see it.
  const agent = index === 0 || random() < 0.6 ? 0 : 1;
  const isEarly = ending === "pending" || ending === "at_warehouse";
  const initialPatch: JobPatch = {
    batch_number: `B-${addDays(today, -createdDaysAgo).replaceAll("-", "")}-${agent + 1}`,
    group_code: pick(AREAS),
    piece_quantity: 1 + Math.floor(random() * random() * 12),
    labels: pick(LABELS),
    pts: Math.round(random() * 400) / 10,
    weight: Math.round((0.2 + random() * random() * 40) * 100) / 100,
    recipient_name: `${pick(STREETS)} ${pick(TRADES)}`,
    recipient_contact: `+1 555 01${String(Math.floor(random() * 100)).padStart(2, "0")}`,
    delivery_address: `${1 + Math.floor(random() * 180)} ${pick(STREETS)}, Unit ${1 + Math.floor(random() * 20)}`,
    postal_code: String(10_000 + Math.floor(random() * 80_000)),
    scheduled_date: scheduled,
    instructions: pick(INSTRUCTIONS),
    scheduled_delivery_pending: ending === "pending",
  };
  const steps = stepsTo(ending, initialPatch, { pick, random, scheduled });
  return {
    markingNumber: `WM-${String(100_001 + index)}`,
    agent,
    contractor: index === 0 ? 0 : isEarly && random() < 0.7 ? null : Math.floor(random() * 3),
    createdDaysAgo,
    steps,
  };
}

interface GeneratorContext {
  pick: <Value>(values: readonly Value[]) => Value;
  random: () => number;
  scheduled: string;
}

/** Returns the steps to the status `ending`. */
function stepsTo(ending: Ending, first: JobPatch, { pick, random, scheduled }: GeneratorContext): DemoStep[] {
  const statusStep = (status: string): DemoStep => ({
    afterMinutes: 60 + Math.floor(random() * 300),
    patch: {
      normalized_status: status,
      ...(status === "scheduled" && { scheduled_delivery_date: scheduled }),
    },
  });
  const stepsThrough = (last: (typeof DELIVERED_PATH)[number]) =>
    DELIVERED_PATH.slice(1, DELIVERED_PATH.indexOf(last) + 1).map(statusStep);
  const failureStep = (status: "failed" | "on_hold"): DemoStep => ({
    afterMinutes: 30 + Math.floor(random() * 240),
    patch: {
      normalized_status: status,
      failure_reason: pick(status === "failed" ? FAILURE_REASONS : HOLD_REASONS),
    },
  });
  const pathByEnding: Partial<Record<Ending, () => DemoStep[]>> = {
    arrived: () => [...stepsThrough("out_for_delivery"), statusStep("arrived")],
    ready_for_collection: () => [...stepsThrough("in_transit"), statusStep("ready_for_collection")],
    partially_completed: () => [...stepsThrough("out_for_delivery"), statusStep("partially_completed")],
    failed: () => [...stepsThrough("out_for_delivery"), failureStep("failed")],
    on_hold: () => [...stepsThrough("at_warehouse"), failureStep("on_hold")],
    returning: () => [...stepsThrough("out_for_delivery"), failureStep("failed"), statusStep("returning")],
    returned: () => [
      ...stepsThrough("out_for_delivery"),
      failureStep("failed"),
      statusStep("returning"),
      statusStep("returned"),
    ],
    cancelled: () => [statusStep("cancelled")],
  };
  const path = pathByEnding[ending]?.() ?? stepsThrough(ending as (typeof DELIVERED_PATH)[number]);
  return [{ afterMinutes: 0, patch: { normalized_status: "pending", ...first } }, ...path];
}

function pickEnding(random: () => number): Ending {
  let remaining = random() * 100;
  for (const [share, ending] of ENDINGS) {
    remaining -= share;
    if (remaining < 0) return ending;
  }
  return "completed";
}

function addDays(day: Date, days: number): string {
  return new Date(day.getTime() + days * 86_400_000).toISOString().slice(0, 10);
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
