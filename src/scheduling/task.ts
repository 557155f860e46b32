/** Tasks: what can be scheduled, each with the shape of its payload, which is checked when it is scheduled and when it is run. */
import { z } from "zod";

/** Payloads carry ids only: what they stand for is read when the task runs, and so is never stale. */
export interface Task<P> {
  readonly name: string;
  readonly payload: z.ZodType<P>;
}

export function defineTask<P>(name: string, payload: z.ZodType<P>): Task<P> {
  return { name, payload };
}

/** For tasks that repeat. */
export const noPayload = z.strictObject({});
export type NoPayload = z.infer<typeof noPayload>;

/** A task and what this process does for it. */
export interface Handler {
  readonly name: string;
  /** Null: it runs when it was scheduled for, and is then gone. */
  readonly everyMs: number | null;
  /** After this long the job's lock is no longer kept, so that another process may do what hangs here. */
  readonly longestRunMs: number;
  /** Throws an InvalidPayloadError where it is no payload of this task. */
  run(payload: unknown): Promise<void>;
}

export interface HandlerOptions {
  readonly longestRunMs?: number;
}

const LONGEST_RUN_MS = 60_000;

class InvalidPayloadError extends Error {
  override readonly name = "InvalidPayloadError";
}

/** Runs once for each payload that was scheduled; what fails is reported and gone, for a sweep finds what it was to do. */
export function handle<P>(
  task: Task<P>,
  work: (payload: P) => Promise<void> | void,
  { longestRunMs = LONGEST_RUN_MS }: HandlerOptions = {},
): Handler {
  return {
    name: task.name,
    everyMs: null,
    longestRunMs,
    run: async (payload) => await work(checkPayload(task, payload)),
  };
}

/** Runs once in each interval, over all processes. */
export function repeat(
  task: Task<NoPayload>,
  everyMs: number,
  work: () => Promise<void> | void,
  options?: HandlerOptions,
): Handler {
  return { ...handle(task, work, options), everyMs };
}

export function checkPayload<P>(task: Task<P>, payload: unknown): P {
  const result = task.payload.safeParse(payload);
  if (result.success) return result.data;
  const issues = result.error.issues.map(({ path, message }) => `${path.join(".") || "payload"}: ${message}`);
  throw new InvalidPayloadError(`This is no payload of ${task.name}: ${issues.join("; ")}`);
}
