/** Messages between the benchmark and its load generator. */
import type { LoadRequest } from "../load.ts";

export interface TrafficRequest extends LoadRequest {
  /** The kind of request, which decides the table row. */
  kind: string;
}

/** The generator replaces these digits in a body with a new number for each request, so that every PATCH is a change. */
export const NUMBER_PLACEHOLDER = "0000000000";

export interface Phase {
  name: string;
  seconds: number;
  /** Requests per second, independent of responses. Null: each connection sends its next request after a response. */
  rate: number | null;
  connections: number;
}

export interface TrafficJob {
  url: string;
  requests: readonly TrafficRequest[];
  /** Run one after the other, without a pause. */
  phases: readonly Phase[];
}

/** One request, with times on the generator's clock; `phase` is the phase of its due time. */
export interface SentRequest {
  kind: string;
  phase: string;
  /** Due time since the start of the phase. */
  dueMs: number;
  sentMs: number;
  answeredMs: number;
  /** HTTP status; 0 if no connection was free within 2 s or the connection broke. */
  status: number;
}
