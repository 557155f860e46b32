/** Runs of test jobs. A row is deleted with the last step of its run. */
import { defineEntity, p, type InferEntity } from "@mikro-orm/postgresql";

/** Needs no foreign keys: a job with a run is never deleted. */
export const TestRun = defineEntity({
  name: "TestRun",
  tableName: "test_run",
  properties: {
    jobId: p.uuid().primary(),
    /** The test agent, who owns the job. */
    agentId: p.uuid(),
    markingNumber: p.text(),
    /** The statuses that are left, in order. */
    steps: p.array().$type<string[]>(),
    intervalMs: p.integer(),
    dueAt: p.datetime(3),
  },
  indexes: [
    { name: "test_run_due", properties: ["dueAt"] },
    { name: "test_run_agent", properties: ["agentId"] },
  ],
});

export type TestRun = InferEntity<typeof TestRun>;
