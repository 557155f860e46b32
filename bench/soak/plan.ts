/** The traffic of the soak and the limits of its assertions. Rates are per second over both APIs, at `--load=1`. */

export const OPERATIONS = {
  "list of 10": 160,
  "list of 100": 6,
  "PATCH one": 60,
  "PATCH one, twice with its Idempotency-Key": 4,
  "PATCH batch of 20": 2,
  "GraphQL updateJobs of 20": 1,
  "GraphQL dashboard": 4,
  "GraphQL connections": 6,
  "GraphQL jobStats": 6,
  "event feed": 6,
  history: 6,
  "console visit": 0.4,
} as const;
export type OperationName = keyof typeof OPERATIONS;
export const operationNames = Object.keys(OPERATIONS) as OperationName[];

/** Concurrent GraphQL subscriptions. Each ends after a while and is replaced. */
export const SUBSCRIBERS = 24;
export const SUBSCRIBER_MEAN_STAY_S = 20;

/** How a receiver behaves. All but the last three accept every event sooner or later. */
export type Behaviour = "healthy" | "flaky" | "busy" | "slow" | "failing" | "hanging" | "gone";
export const RELIABLE_BEHAVIOURS: ReadonlySet<Behaviour> = new Set<Behaviour>([
  "healthy",
  "flaky",
  "busy",
  "slow",
]);

export interface EndpointPlan {
  behaviour: Behaviour;
  /** Rank of its organisation by size, from 0. */
  organizationRank: number;
}

const planEndpoints = (behaviour: Behaviour, ...organizationRanks: number[]): EndpointPlan[] =>
  organizationRanks.map((organizationRank) => ({ behaviour, organizationRank }));

/** The organisations of ranks 7, 30 and 31 have a healthy endpoint and a failing or hanging one. */
export const ENDPOINTS: readonly EndpointPlan[] = [
  ...planEndpoints("healthy", 0, 1, 2, 3, 4, 5, 6, 7, 30, 31),
  ...planEndpoints("flaky", 8),
  ...planEndpoints("busy", 9),
  ...planEndpoints("slow", 40),
  ...planEndpoints("failing", 7, 30),
  ...planEndpoints("hanging", 31, 41),
  ...planEndpoints("gone", 42),
];

/** Short delays, so that failed attempts are retried within the run. While a circuit is open, deliveries use no attempts. */
export const RETRY_SCHEDULE = "0s,2s,5s,10s,20s,40s";
export const JOBS = 50_000;
export const USER_COUNT = 12;
export const USER_PASSWORD = "a heron waits at the weir";

export const SAMPLE_EVERY_MS = 5_000;
/** Time before measurements begin: a tenth of the run, at most this. V8 compiles code, and connections are opened. */
export const MAX_WARM_UP_S = 60;

/** The limits of the assertions. */
export const LIMITS = {
  /** Slope of a line over the last two thirds of the run, minus twice its standard error. */
  heapMbAnHour: 20,
  /** Rise over the last two thirds of the run. Two concurrent password hashes alone need 19 MiB each. */
  rssRiseMb: 45,
  /** p50 of the last quarter divided by that of the first. Counts only if it also rose by `slowerByMs`. */
  slowdown: 1.5,
  slowerByMs: 3,
  /** Calls that the first and the last quarter each need for this comparison. */
  minCalls: 100,
  dueS: 30,
  agendaJobs: 1_000,
  countChanges: 20_000,
} as const;
/** A line through fewer points says nothing. */
export const MIN_MINUTES = 5;
