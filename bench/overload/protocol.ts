/** What the bench and the process of its load say to each other. */
import type { LoadRequest } from "../load.ts";

export interface TrafficRequest extends LoadRequest {
  /** Which row it counts in. */
  kind: string;
}

/** Where these digits stand in a body, another number is sent each time, so that each change is one. */
export const NUMBER_PLACEHOLDER = "0000000000";

export interface Phase {
  name: string;
  seconds: number;
  /** Requests a second, whatever becomes of them. Null: each connection sends its next when its last is answered. */
  rate: number | null;
  connections: number;
}

export interface TrafficJob {
  url: string;
  requests: readonly TrafficRequest[];
  /** One after the other, without a pause. */
  phases: readonly Phase[];
}

/** One request, by the clock of the load; its phase is the one in which it was to be sent. */
export interface SentRequest {
  kind: string;
  phase: string;
  /** When it was to be sent, since its phase began. */
  dueMs: number;
  sentMs: number;
  answeredMs: number;
  /** 0: no connection came free for it in time, or its connection broke. */
  status: number;
}
