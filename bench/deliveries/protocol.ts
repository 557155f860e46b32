/** What the processes of the delivery rows say to each other, and what they all know. */

/** A delivery as an engine other than Waymark is handed it: its body is made already. */
export interface Message {
  endpoint: number;
  /** The `webhook-id`. */
  id: string;
  body: string;
}

export type EngineName = "waymark" | "graphile-worker" | "pg-boss" | "bullmq" | "agenda" | "bare-loop";

export type EngineCommand = { do: "fill"; count: number } | { do: "start" } | { do: "stop" };

/** The first ones of 200 endpoints hang where they are told to: 1 %. */
export const ENDPOINTS = 200;
export const HANGING_ENDPOINTS = 2;
/** Deliveries on their way at once; Waymark's own limit. */
export const CONCURRENCY = 512;

/** Opens the secrets of the bench's endpoints. */
export const BENCH_SECRET = Buffer.alloc(32, 7);

/** Milliseconds by a clock that all processes of the machine share. */
export function sharedNowMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

export function percentile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN;
}

export function median(values: readonly number[]): number {
  return percentile(values, 0.5);
}

/** In this order when it is measured: each side comes first, second, third in turns. */
export function rotate<T>(sides: readonly T[], round: number): T[] {
  const from = round % sides.length;
  return [...sides.slice(from), ...sides.slice(0, from)];
}
