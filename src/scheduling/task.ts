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
export interface TaskHandler {
  readonly name: string;
  /** Null: it runs when it was scheduled for, and is then gone. */
  readonly intervalMs: number | null;
  /** After this long the job's lock is no longer kept, so that another process may do what hangs here. */
  readonly maxRunMs: number;
  /** Throws an InvalidPayloadError where it is no payload of this task. */
  run(payload: unknown): Promise<void>;
}

export interface TaskHandlerOptions {
  readonly maxRunMs?: number;
}

const DEFAULT_MAX_RUN_MS = 60_000;

class InvalidPayloadError extends Error {
  override readonly name = "InvalidPayloadError";
}

/** Runs once for each payload that was scheduled; what fails is reported and gone, for a sweep finds what it was to do. */
export function taskHandler<P>(
  task: Task<P>,
  work: (payload: P) => Promise<void> | void,
  { maxRunMs = DEFAULT_MAX_RUN_MS }: TaskHandlerOptions = {},
): TaskHandler {
  return {
    name: task.name,
    intervalMs: null,
    maxRunMs,
    run: async (payload) => await work(checkPayload(task, payload)),
  };
}

/** Runs once in each interval, over all processes. */
export function recurringHandler(
  task: Task<NoPayload>,
  intervalMs: number,
  work: () => Promise<void> | void,
  options?: TaskHandlerOptions,
): TaskHandler {
  return { ...taskHandler(task, work, options), intervalMs };
}

export function checkPayload<P>(task: Task<P>, payload: unknown): P {
  const result = task.payload.safeParse(payload);
  if (result.success) return result.data;
  const issues = result.error.issues.map(({ path, message }) => `${path.join(".") || "payload"}: ${message}`);
  throw new InvalidPayloadError(`This is no payload of ${task.name}: ${issues.join("; ")}`);
}
