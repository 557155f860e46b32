/** Messages between the processes of the delivery benchmarks, and shared constants. */

/** A delivery for an engine other than Waymark, with a finished body. */
export interface Message {
  endpoint: number;
  /** The `webhook-id` header. */
  id: string;
  body: string;
}

export type EngineName = "waymark" | "graphile-worker" | "bare-loop";

export type EngineCommand = { do: "fill"; count: number } | { do: "start" } | { do: "stop" };

export interface ProducerCommand {
  engine: EngineName;
  perSecond: number;
  count: number;
}

/** The time when each commit was confirmed, by `webhook-id`. */
export type Produced = Map<string, number>;

/** Endpoints 0 and 1 of 200 can be made to hang: 1 %. */
export const ENDPOINTS = 200;
export const HANGING_ENDPOINTS = 2;
/** Concurrent deliveries; equals Waymark's own limit. */
export const CONCURRENCY = 512;

/** The key that encrypts the endpoints' secrets. */
export const BENCH_SECRET = Buffer.alloc(32, 7);

/** Returns milliseconds of a clock that all processes on this machine share. */
export function sharedNowMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}
