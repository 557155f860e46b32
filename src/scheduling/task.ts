/** Tasks and their handlers. */
import type { z } from "zod";
import { SECOND_MS } from "../core/time.ts";

/** The default collection of Agenda and Agendash. */
export const TASKS_COLLECTION = "agendaJobs";

/** Payloads contain only ids; the data is read when the task runs, so it cannot be stale. */
export interface Task<P> {
  readonly name: string;
  /** Validates payloads when a task is scheduled and when it runs. */
  readonly payload: z.ZodType<P>;
}

/** A task with the function that runs it in this process. */
export interface TaskHandler {
  readonly name: string;
  /** Null for a one-off task, which is deleted after its run. */
  readonly intervalMs: number | null;
  /** After this time the task can run again, because its process may be dead. */
  readonly lockLifetimeMs: number;
  /** Throws a ZodError if `payload` is invalid. */
  readonly run: (payload: unknown) => Promise<void>;
}

const MIN_LOCK_LIFETIME_MS = 30 * SECOND_MS;

/** Runs once per scheduled payload. A failure is logged and not retried; a sweep does the work later. */
export function taskHandler<P>(
  { name, payload: schema }: Task<P>,
  work: (payload: P) => Promise<void> | void,
): TaskHandler {
  return {
    name,
    intervalMs: null,
    lockLifetimeMs: MIN_LOCK_LIFETIME_MS,
    run: async (payload) => await work(schema.parse(payload)),
  };
}

/** Runs once per interval across all processes. A long run, such as a purge, may take the whole interval. */
export function recurringHandler(
  name: string,
  intervalMs: number,
  work: () => Promise<void> | void,
): TaskHandler {
  const lockLifetimeMs = Math.max(intervalMs, MIN_LOCK_LIFETIME_MS);
  return { name, intervalMs, lockLifetimeMs, run: async () => await work() };
}
