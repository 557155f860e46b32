/** Runs of test jobs: each step once, in shares for each partner, and none during a suspension. */
import { randomUUID } from "node:crypto";
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { ApiKeyService } from "../../../src/api-keys/api.ts";
import { createDataServices } from "../../../src/app/data-services.ts";
import { entities } from "../../../src/app/entities.ts";
import { findJob, type JobService } from "../../../src/jobs/api.ts";
import { openDatabase } from "../../../src/core/postgres/database.ts";
import { systemActor } from "../../../src/core/principal.ts";
import { sql } from "../../../src/core/postgres/sql.ts";
import { SECOND_MS } from "../../../src/core/time.ts";
import { paths, pathNames } from "../../../src/test-mode/paths.ts";
import { applyDueSteps, MAX_STEPS_PER_PARTNER } from "../../../src/test-mode/test-run.driver.ts";
import { TestRun } from "../../../src/test-mode/api.ts";
import type { RunRequest, TestPrincipal } from "../../../src/test-mode/service.ts";
import { waitForBlockedSessions } from "../../support/database/blocked-sessions.ts";
import { createTestDatabase } from "../../support/database/test-database.ts";
import { createFakeClock, HOUR_MS } from "../../support/fake-clock.ts";
import { suspend } from "../../support/app/suspend.ts";

const stack = new AsyncDisposableStack();
const clock = createFakeClock();
const { url } = stack.use(await createTestDatabase());
const database = stack.use(await openDatabase({ url, poolSize: 4, entities }));
const services = createDataServices({
  database,
  clock,
  notifyWorkers: () => undefined,
  recordAccessChange: async () => undefined,
});
const keys = new ApiKeyService({ database, clock });
/** The times at which the driver was scheduled. */
const scheduled: number[] = [];

beforeEach(async () => {
  await database.query(sql`delete from test_run`);
  scheduled.length = 0;
});
afterAll(() => stack.disposeAsync());

interface Partner {
  principal: TestPrincipal;
  liveId: string;
}

async function createPartner(): Promise<Partner> {
  const { id: liveId } = await services.organizations.create({ name: randomUUID(), type: "agent" });
  const { key } = await keys.create({
    organizationId: liveId,
    name: "t",
    createdBy: "test",
    testSide: "agent",
  });
  const principal: TestPrincipal = {
    organizationId: key.organization?.id ?? "",
    organizationType: "agent",
    liveOrganizationId: liveId,
    actor: systemActor,
    requestId: null,
  };
  return { principal, liveId };
}

async function createJobs({ principal }: Partner, count: number): Promise<string[]> {
  const jobs = await services.testMode.createJobs(principal, {
    numbers: count,
    template: {},
    assigned: true,
  });
  return jobs.map(({ marking_number: number }) => number);
}

const STEPS = ["picked_up", "in_transit"];

/** Starts a run of a new job. */
async function startRun(partner: Partner, { steps = STEPS, intervalMs = 5_000 }: Partial<RunRequest> = {}) {
  const [number = ""] = await createJobs(partner, 1);
  return await services.testMode.startRun(partner.principal, number, { steps, intervalMs });
}

/** Stores runs of jobs that do not exist, `count` for each agent: their steps change only the runs. */
async function addRunsOf(agentIds: readonly string[], count: number, dueAt: Date): Promise<void> {
  const runs = agentIds.flatMap((agentId) =>
    Array.from({ length: count }, (_, index) => ({
      jobId: randomUUID(),
      agentId,
      markingNumber: `TEST-${index}`,
      steps: STEPS,
      intervalMs: 10 * SECOND_MS,
      dueAt,
    })),
  );
  await database.em().insertMany(TestRun, runs);
}

const addRuns = ({ principal }: Partner, count: number, dueAt: Date): Promise<void> =>
  addRunsOf([principal.organizationId], count, dueAt);

const apply = (jobs: Pick<JobService, "updateBatch"> = services.jobs): Promise<void> =>
  applyDueSteps({ database, clock, jobs, scheduleStep: (atMs) => scheduled.push(atMs) });

/** The status changes of a job, oldest first. */
async function statusesOf({ principal }: Partner, markingNumber: string): Promise<(string | undefined)[]> {
  const rows = await database.query<{ to: string }>(sql`
    select changes -> 'normalized_status' ->> 'to' as to from job_event
    where agent_id = ${principal.organizationId}::uuid and job ->> 'marking_number' = ${markingNumber}
      and type = 'job.status_changed' order by sequence`);
  return rows.map(({ to }) => to);
}

const waitingSteps = async ({ principal }: Partner): Promise<number> =>
  (await database.em().find(TestRun, { agentId: principal.organizationId })).reduce(
    (sum, { steps }) => sum + steps.length,
    0,
  );

const longAgo = (): Date => new Date(clock.now() - 60 * SECOND_MS);
const recently = (): Date => new Date(clock.now() - SECOND_MS);
const reasonsByStatus: Readonly<Record<string, string>> = {
  failed: "recipient_unavailable",
  on_hold: "awaiting_instructions",
};

describe("a run", () => {
  it.each([...pathNames, "all statuses"] as const)("applies every status once: %s", async (name) => {
    const partner = await createPartner();
    const [markingNumber = ""] = await createJobs(partner, 1);
    const codes = (await services.referenceData.statuses()).map(({ code }) => code);
    // A new job is pending, so that a step to it first would change nothing.
    const every = [...codes.filter((code) => code !== "pending"), "pending"];
    const [request, statuses] =
      name === "all statuses" ? [{ steps: every }, every] : [{ path: name }, paths[name]];
    const { endsAt } = await services.testMode.startRun(partner.principal, markingNumber, {
      ...request,
      intervalMs: 5 * SECOND_MS,
    });
    const reasons: (string | null)[] = [];
    while ((await waitingSteps(partner)) > 0) {
      clock.advance(SECOND_MS);
      const before = await waitingSteps(partner);
      await apply();
      if ((await waitingSteps(partner)) === before) continue;
      const job = await findJob(database, partner.principal, markingNumber);
      reasons.push(job?.failure_reason ?? null);
    }
    expect(await statusesOf(partner, markingNumber)).toEqual(statuses);
    // As after a PATCH, a reason stays until another one replaces it.
    const expected = statuses.map((_, index, all) => {
      const withReason = all.slice(0, index + 1).findLast((status) => status in reasonsByStatus);
      return withReason === undefined ? null : reasonsByStatus[withReason];
    });
    expect(reasons).toEqual(expected);
    expect(clock.now() - endsAt.getTime()).toBe(SECOND_MS);
  });

  it("is scheduled for its next step, and not after its last", async () => {
    const partner = await createPartner();
    const { markingNumber: number, nextStepAt } = await startRun(partner);
    clock.advance(SECOND_MS);
    await apply();
    expect(scheduled).toEqual([nextStepAt.getTime() + 5_000]);
    clock.advance(5_000);
    await apply();
    expect(scheduled).toHaveLength(1);
    expect(await statusesOf(partner, number)).toEqual(STEPS);
  });

  it("keeps the interval after a step that was late", async () => {
    const partner = await createPartner();
    const { markingNumber: number } = await startRun(partner, { intervalMs: 60 * SECOND_MS });
    clock.advance(HOUR_MS);
    await apply();
    await apply();
    clock.advance(50 * SECOND_MS);
    await apply();
    expect(await statusesOf(partner, number)).toEqual(["picked_up"]);
    clock.advance(10 * SECOND_MS);
    await apply();
    expect(await statusesOf(partner, number)).toEqual(STEPS);
  });
});

it("applies each step once if two passes run at the same time", async () => {
  const partner = await createPartner();
  const numbers: string[] = [];
  while (numbers.length < 30) numbers.push((await startRun(partner)).markingNumber);
  clock.advance(SECOND_MS);
  // The first pass holds the locks of ten runs until the second one has ended.
  const [isInBatch, mayCommit] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const slow: Pick<JobService, "updateBatch"> = {
    async updateBatch(...args) {
      const results = await services.jobs.updateBatch(...args);
      isInBatch.resolve();
      await mayCommit.promise;
      return results;
    },
  };
  const first = apply(slow);
  await isInBatch.promise;
  await apply();
  expect(await waitingSteps(partner)).toBe(30 + 10);
  mayCommit.resolve();
  await first;
  expect(await waitingSteps(partner)).toBe(30);
  for (const number of numbers) expect(await statusesOf(partner, number)).toEqual(["picked_up"]);
});

it("a run that is cancelled during a step keeps that step, and applies no other", async () => {
  const partner = await createPartner();
  const { markingNumber: number } = await startRun(partner);
  clock.advance(SECOND_MS);
  let cancelled: Promise<{ steps: readonly string[] }> | undefined;
  await apply({
    async updateBatch(...args) {
      const results = await services.jobs.updateBatch(...args);
      cancelled = services.testMode.cancelRun(partner.principal, number);
      await waitForBlockedSessions(database, 1);
      return results;
    },
  });
  expect((await cancelled)?.steps).toEqual(["in_transit"]);
  clock.advance(HOUR_MS);
  await apply();
  expect(await statusesOf(partner, number)).toEqual(["picked_up"]);
});

describe("a pass", () => {
  it("applies at most 50 steps of one partner and those of another, and the next pass the rest", async () => {
    const [large, small] = [await createPartner(), await createPartner()];
    await addRuns(large, MAX_STEPS_PER_PARTNER + 5, longAgo());
    await addRuns(small, 1, recently());
    await apply();
    expect([await waitingSteps(large), await waitingSteps(small)]).toEqual([
      MAX_STEPS_PER_PARTNER + 2 * 5,
      1,
    ]);
    expect(scheduled).toContain(clock.now());
    await apply();
    expect(await waitingSteps(large)).toBe(MAX_STEPS_PER_PARTNER + 5);
  });

  it("goes on with other partners if the steps of one fail, and reports the error", async () => {
    const [failing, other] = [await createPartner(), await createPartner()];
    await addRuns(failing, 1, longAgo());
    await addRuns(other, 1, recently());
    const jobs: Pick<JobService, "updateBatch"> = {
      updateBatch(principal, ...rest) {
        if (principal.organizationId === failing.principal.organizationId)
          throw new Error("The test wants it");
        return services.jobs.updateBatch(principal, ...rest);
      },
    };
    await expect(apply(jobs)).rejects.toThrow("The test wants it");
    expect([await waitingSteps(failing), await waitingSteps(other)]).toEqual([2, 1]);
  });

  it("gives all partners the same share if they are many", async () => {
    const many = await database.query<{ id: string }>(sql`
      with live as (
        insert into organization (id, name, type)
        select gen_random_uuid(), gen_random_uuid()::text, 'agent' from generate_series(1, 120) returning id)
      insert into organization (id, name, type, live_organization_id)
      select gen_random_uuid(), id::text, 'agent', id from live returning id`);
    const ids = many.map(({ id }) => id);
    await addRunsOf(ids, 12, longAgo());
    await apply();
    const runs = await database.em().findAll(TestRun);
    const steps = [...Map.groupBy(runs, ({ agentId }) => agentId).values()].map((own) =>
      own.reduce((sum, run) => sum + run.steps.length, 0),
    );
    expect(steps).toHaveLength(120);
    // Each gets 8 of 1,000.
    expect(new Set(steps)).toEqual(new Set([24 - 8]));
  });
});

describe("during a suspension", () => {
  it("steps wait, and are applied after it", async () => {
    const [partner, other] = [await createPartner(), await createPartner()];
    const { markingNumber: number } = await startRun(partner);
    const { markingNumber: otherNumber } = await startRun(other);
    clock.advance(SECOND_MS);
    await apply();
    await suspend(database, partner.liveId);
    clock.advance(HOUR_MS);
    await apply();
    expect(await statusesOf(partner, number)).toEqual(["picked_up"]);
    expect(await statusesOf(other, otherNumber)).toEqual(STEPS);
    await suspend(database, partner.liveId, false);
    await apply();
    expect(await statusesOf(partner, number)).toEqual(STEPS);
  });
});
