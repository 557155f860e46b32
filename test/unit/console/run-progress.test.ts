/** How far the simulator shows a run. */
import { expect, it } from "vitest";
import { appliedSteps, startedRun } from "../../../src/console/pages/simulator/run.progress.ts";

const DURING = "2026-11-24T04:06:17.000Z";
const AFTER = "2026-11-24T04:06:21.000Z";
const job = { version: 2, normalizedStatus: "pending", updatedAt: DURING };
const run = startedRun(
  {
    markingNumber: "TEST-1",
    steps: ["assigned", "failed", "failed", "out_for_delivery", "failed"],
    intervalMs: 1_000,
    nextStepAt: "2026-11-24T04:06:16.051Z",
    endsAt: "2026-11-24T04:06:20.051Z",
  },
  job,
);

it("leaves out steps that do not change the status", () => {
  expect(run.steps).toEqual(["assigned", "failed", "out_for_delivery", "failed"]);
  expect(startedRun({ ...run, steps: ["pending", "assigned"], nextStepAt: "" }, job).steps).toEqual([
    "assigned",
  ]);
});

it.each([
  ["no step", { version: 2, normalizedStatus: "pending", updatedAt: DURING }, 0],
  ["an older version of the job", { version: 1, normalizedStatus: "pending", updatedAt: DURING }, 0],
  ["the first step", { version: 3, normalizedStatus: "assigned", updatedAt: DURING }, 1],
  ["a status that occurs again later", { version: 4, normalizedStatus: "failed", updatedAt: DURING }, 2],
  ["the last step", { version: 6, normalizedStatus: "failed", updatedAt: AFTER }, 4],
  [
    "someone else’s change of another field",
    { version: 5, normalizedStatus: "failed", updatedAt: DURING },
    2,
  ],
  ["another status after the run", { version: 7, normalizedStatus: "assigned", updatedAt: AFTER }, 4],
])("counts the applied steps: %s", (_case, state, count) => {
  expect(appliedSteps(run, state)).toBe(count);
});
