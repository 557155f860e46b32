/** Task definitions and handlers. Payloads are validated when a task is scheduled and when it runs. */
import { z } from "zod";
import { MINUTE_MS } from "../core/time.ts";

/** Payloads contain only ids; the data is read when the task runs, so it cannot be stale. */
export interface Task<P> {
  readonly name: string;
  readonly payload: z.ZodType<P>;
}

export function defineTask<P>(name: string, payload: z.ZodType<P>): Task<P> {
  return { name, payload };
}

/** The payload of recurring tasks. */
export const noPayload = z.strictObject({});
export type NoPayload = z.infer<typeof noPayload>;

/** A task with the function that runs it in this process. */
export interface TaskHandler {
  readonly name: string;
  /** Null for a one-off task, which is deleted after its run. */
  readonly intervalMs: number | null;
  /** Maximum runtime. After it the lock is no longer extended, and another process may run the task. */
  readonly maxRunMs: number;
  /** Throws InvalidPayloadError if `payload` is invalid. */
  run(payload: unknown): Promise<void>;
}

export interface TaskHandlerOptions {
  readonly maxRunMs?: number;
}

const DEFAULT_MAX_RUN_MS = MINUTE_MS;

class InvalidPayloadError extends Error {
  override readonly name = "InvalidPayloadError";
}

/** Runs once per scheduled payload. A failure is logged and not retried; a sweep does the work later. */
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

/** Runs once per interval across all processes. */
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
  throw new InvalidPayloadError(`Invalid payload for task ${task.name}: ${issues.join("; ")}`);
}
