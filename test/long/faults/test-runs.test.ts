/** A worker is killed during runs of test jobs: another one continues them, and applies each step once. */
import { MongoClient } from "mongodb";
import { expect, it, vi } from "vitest";
import { ApiKeyService } from "../../../src/api-keys/api.ts";
import { createDataServices } from "../../../src/app/data-services.ts";
import { systemClock } from "../../../src/core/clock.ts";
import { systemActor } from "../../../src/core/principal.ts";
import { sql } from "../../../src/core/postgres/sql.ts";
import { TASKS_COLLECTION } from "../../../src/scheduling/task.ts";
import { TestRun } from "../../../src/test-mode/api.ts";
import type { TestPrincipal } from "../../../src/test-mode/service.ts";
import { openFaultFixture, type FaultFixture } from "../../support/faults/webhook.fixture.ts";
import { eventually } from "../../support/eventually.ts";

vi.setConfig({ testTimeout: 150_000 });

const STEPS = ["picked_up", "in_transit", "out_for_delivery", "arrived", "completed"];
const RUNS = 12;
/** The sweep runs every 30 s. */
const SWEEP = { timeoutMs: 60_000 };

/** Starts runs without a scheduled task, so that the sweep of a worker finds them. Returns the Marking Numbers. */
async function startRuns({ database, agent }: FaultFixture): Promise<string[]> {
  const keys = new ApiKeyService({ database, clock: systemClock });
  const { key } = await keys.create({
    organizationId: agent.organizationId,
    name: "t",
    createdBy: "test",
    testSide: "agent",
  });
  const principal: TestPrincipal = {
    organizationId: key.organization?.id ?? "",
    organizationType: "agent",
    liveOrganizationId: agent.organizationId,
    actor: systemActor,
    requestId: null,
  };
  const { testMode } = createDataServices({
    database,
    clock: systemClock,
    notifyWorkers: () => undefined,
    recordAccessChange: async () => undefined,
  });
  const jobs = await testMode.createJobs(principal, { numbers: RUNS, template: {}, assigned: true });
  const numbers = jobs.map(({ marking_number: number }) => number);
  for (const number of numbers)
    await testMode.startRun(principal, number, { steps: STEPS, intervalMs: 1_000 });
  return numbers;
}

const eventsOf = ({ database }: FaultFixture) =>
  database.query<{ number: string; to: string }>(sql`
    select job ->> 'marking_number' as number, changes -> 'normalized_status' ->> 'to' as to from job_event
    where type = 'job.status_changed' order by sequence`);

// evidence: test-run-worker-killed
it("continues the runs of a killed worker whose scheduled task is lost, each step once", async () => {
  const fixture = await openFaultFixture();
  const numbers = await startRuns(fixture);
  const killed = await fixture.startServer("worker");
  // Some runs have their second step, which the task of the first step applies.
  await eventually(async () => expect((await eventsOf(fixture)).length).toBeGreaterThan(RUNS), SWEEP);
  await killed.kill("SIGKILL");
  expect(await fixture.database.em().count(TestRun)).toBe(RUNS);
  const mongo = await MongoClient.connect(fixture.mongoUrl);
  await mongo.db().collection(TASKS_COLLECTION).deleteMany({ name: "test-runs.step" });
  await mongo.close();

  await fixture.startServer("worker");
  await eventually(async () => expect(await fixture.database.em().count(TestRun)).toBe(0), SWEEP);
  const events = await eventsOf(fixture);
  for (const number of numbers)
    expect(events.filter((event) => event.number === number).map(({ to }) => to)).toEqual(STEPS);
});
