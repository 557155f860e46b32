/** Assumptions of the computed fleet that cannot be measured on one machine. */
export interface Assumptions {
  /** At the peak of the day. */
  deliveriesPerSecond: number;
  /** 2: the agent's endpoint and the contractor's. */
  deliveriesPerChange: number;
  readsPerChange: number;
  /** Share of changes that are sent in batches. */
  batchedShare: number;
  /** Share of attempts at healthy endpoints that fail and are retried. */
  retriedShare: number;
  /** Response time of a receiver. */
  answerS: number;
  /** The lowest rate of the day, as a share of the peak. */
  nightShare: number;
  /** Target CPU utilisation at the peak. */
  utilisation: number;
  /** CPU cores of the primary's machine. */
  coresOfPrimary: number;
  retentionDays: number;
}

export const ASSUMPTIONS: Assumptions = {
  deliveriesPerSecond: 10_000,
  deliveriesPerChange: 2,
  readsPerChange: 1,
  batchedShare: 0.8,
  retriedShare: 0.02,
  answerS: 0.1,
  nightShare: 0.3,
  utilisation: 0.6,
  coresOfPrimary: 32,
  retentionDays: 30,
};

/** Concurrent deliveries of a worker (`src/webhooks/dispatcher/dispatcher.ts`). */
export const WORKER_SLOTS = 512;

/** Connections to the primary with the default pools (docs/operate/scaling.md): REST, GraphQL, and LISTEN. */
export const API_CONNECTIONS = 10 + 10 + 3;
/** Mails and other tasks, deliveries, and LISTEN. */
export const WORKER_CONNECTIONS = 10 + 4 + 3;
