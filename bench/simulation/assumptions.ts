/** What the simulation takes for granted, because no measurement on one machine can tell it. */
export interface Assumptions {
  organizations: number;
  /** At the peak of the day. */
  deliveriesPerSecond: number;
  /** An agent's and a contractor's endpoint. */
  deliveriesPerChange: number;
  readsPerChange: number;
  /** Of the changes, those that come in batches. */
  batchedShare: number;
  /** Of the attempts at healthy endpoints, those that have to be made again. */
  retriedShare: number;
  /** Of the endpoints, those that never answer with success. */
  brokenShare: number;
  /** Until a receiver has answered. */
  answerS: number;
  /** Of the peak, what comes in an organisation's quietest minute. */
  nightShare: number;
  /** Of the cores, at the peak. */
  utilisation: number;
  /** How large a machine the primary gets. */
  coresOfPrimary: number;
  retentionDays: number;
  /** What an endpoint's owner may set at most. */
  endpointPerSecond: number;
  endpointInFlight: number;
}

export const ASSUMPTIONS: Assumptions = {
  organizations: 1_000,
  deliveriesPerSecond: 10_000,
  deliveriesPerChange: 2,
  readsPerChange: 1,
  batchedShare: 0.8,
  retriedShare: 0.02,
  brokenShare: 0.01,
  answerS: 0.1,
  nightShare: 0.3,
  utilisation: 0.6,
  coresOfPrimary: 32,
  retentionDays: 30,
  endpointPerSecond: 1_000,
  endpointInFlight: 64,
};

/** Deliveries that a worker has on their way at most (`src/webhooks/dispatcher/dispatcher.ts`). */
export const WORKER_SLOTS = 512;

/** Connections to the primary, with the default pool (docs/operations.md): REST, GraphQL, and those that listen. */
export const API_CONNECTIONS = 10 + 10 + 3;
/** Mails and the like, deliveries, and those that listen. */
export const WORKER_CONNECTIONS = 10 + 4 + 3;
