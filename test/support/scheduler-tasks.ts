/** Tasks for tests, and times short enough for them, which processes of their own share. */
import { z } from "zod";
import { defineTask, noPayload } from "../../src/scheduling/task.ts";

export const onceTask = defineTask("test.once", z.strictObject({ n: z.int() }));
export const recurringTask = defineTask("test.again", noPayload);

/** The lock's lifetime is for tests in which none runs out. */
export const shortTimes = {
  processEveryMs: 30,
  lockLifetimeMs: 20_000,
  extendEveryMs: 50,
  maintainEveryMs: 100,
  checkEveryMs: 10,
};
