/** Tasks and short intervals for scheduler tests, shared with their child processes. */
import { z } from "zod";
import { recurringHandler, type TaskHandler } from "../../src/scheduling/task.ts";

export const onceTask = { name: "test.once", payload: z.strictObject({ n: z.int() }) };
export const RECURRING_NAME = "test.again";

/** Its lock does not expire during a test, unless the test sets `lockLifetimeMs`. */
export function recurring(
  intervalMs: number,
  work: () => Promise<void> | void,
  lockLifetimeMs = 20_000,
): TaskHandler {
  return { ...recurringHandler(RECURRING_NAME, intervalMs, work), lockLifetimeMs };
}

export const shortTimes = { processEveryMs: 30, maintainEveryMs: 100 };
