/** Tasks and short intervals for scheduler tests, shared with their child processes. */
import { z } from "zod";
import { defineTask, noPayload } from "../../src/scheduling/task.ts";

export const onceTask = defineTask("test.once", z.strictObject({ n: z.int() }));
export const recurringTask = defineTask("test.again", noPayload);

/** `lockLifetimeMs` is long enough that no lock expires during a test. */
export const shortTimes = {
  processEveryMs: 30,
  lockLifetimeMs: 20_000,
  extendEveryMs: 50,
  maintainEveryMs: 100,
  checkEveryMs: 10,
};
