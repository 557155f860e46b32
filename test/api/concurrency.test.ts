import { describe, expect, it } from "vitest";
import { assignContractors } from "../../src/jobs/update/upsert.sql.ts";
import { systemActor } from "../../src/core/principal.ts";
import { startAppInstance } from "../support/app/app-instance.ts";
import { expectData, expectFailure } from "../support/app/assertions.ts";
import { getJob, historyOf, patchBatch, patchJob } from "../support/app/job-client.ts";
import { lockJobRow, waitForBlockedSessions } from "../support/database/blocked-sessions.ts";
import { useSharedApp } from "../support/app/shared-app.ts";

const { app, agent } = useSharedApp();

const range = (length: number): number[] => Array.from({ length }, (_, index) => index + 1);

const keyed = (key: string) => ({ ...agent, headers: { "idempotency-key": key } });
const withWeight = (order: readonly string[], weight: number): object[] =>
  order.map((marking_number) => ({ marking_number, weight }));

describe("concurrent updates of one job", () => {
  // evidence: concurrent-updates-no-lost-version
  it("lose no version: events have the sequences 1 to n, each starting from the previous values", async () => {
    const number = await app.createJob(agent);
    await using other = await startAppInstance(app.databaseUrl, { WAYMARK_ROLE: "api" });
    const responses = await Promise.all(
      range(60).map((weight) => patchJob(weight % 2 ? app : other, agent, number, { weight })),
    );
    const changed = responses.map((response) => [
      Number(response.headers.get("etag")?.replaceAll('"', "")),
      expectData(response).updated_at as string,
    ]);
    const byVersion = changed.toSorted(([a], [b]) => Number(a) - Number(b));

    const steps = await historyOf(app, agent, number);
    expect(steps.map((step) => step.sequence)).toEqual(range(61));
    // The event of a version has the time of the version, which is later than that of the one before.
    const times = steps.map((step) => step.occurred_at);
    expect(byVersion).toEqual(range(60).map((index) => [index + 1, times[index]]));
    expect(times).toEqual([...new Set(times)].toSorted());
    const weights = steps.slice(1).map((step) => step.changes["weight"]);
    for (const [index, change] of weights.entries())
      expect(change?.from).toBe(index === 0 ? null : weights[index - 1]?.to);
    expect(expectData(await getJob(app, agent, number)).weight).toBe(weights.at(-1)?.to);
  });

  it("return 412 to all but one with the same If-Match", async () => {
    const number = await app.createJob(agent);
    const options = { headers: { "if-match": '"1"' } };
    const responses = await Promise.all(
      range(12).map((weight) => patchJob(app, { ...agent, ...options }, number, { weight })),
    );
    expect(responses.filter((response) => response.status === 200)).toHaveLength(1);
    for (const response of responses.filter((one) => one.status !== 200)) {
      expect(expectFailure(response, 412).details).toEqual({ current_etag: '"2"' });
    }
  });

  it("create one version if all set the same value", async () => {
    const number = await app.createJob(agent);
    const responses = await Promise.all(
      range(20).map(() => patchJob(app, agent, number, { normalized_status: "completed" })),
    );
    for (const response of responses) expect(expectData(response).normalized_status).toBe("completed");
    expect((await historyOf(app, agent, number)).map((step) => step.sequence)).toEqual([1, 2]);
  });
});

describe("concurrent batches", () => {
  // PostgreSQL cancels one of two deadlocked batches, which returns 503. Without an order, half of the rounds deadlock.
  it("in opposite order never deadlock", async () => {
    const numbers = await app.createJobs(agent, 12);
    await using other = await startAppInstance(app.databaseUrl, { WAYMARK_ROLE: "api" });
    for (const round of range(40)) {
      const items = numbers.map((marking_number, index) => ({
        marking_number,
        piece_quantity: round * 2 + (index % 2),
        labels: `round ${round}`,
      }));
      const reversed = items.toReversed().map((item) => ({ ...item, weight: round }));
      const responses = await Promise.all([
        patchBatch(app, agent, items),
        patchBatch(other, agent, reversed),
      ]);
      for (const response of responses) expect(expectData(response).failed_count).toBe(0);
    }
    for (const number of numbers.slice(0, 2)) {
      const steps = await historyOf(app, agent, number);
      expect(steps.map((step) => step.sequence)).toEqual(range(steps.length));
    }
  });

  it("with repeated Marking Numbers, as dry runs and with Idempotency-Keys, never deadlock", async () => {
    const numbers = await app.createJobs(agent, 6);
    const twice = [...numbers, ...numbers.toReversed()];
    for (const round of range(10)) {
      const responses = await Promise.all([
        patchBatch(app, agent, withWeight(twice, round)),
        patchBatch(app, agent, withWeight(twice.toReversed(), -round)),
        patchBatch(app, { ...agent, query: "dry_run=true" }, withWeight(twice, round + 0.5)),
        patchBatch(app, { ...agent, query: "dry_run=true" }, withWeight(twice.toReversed(), round + 0.5)),
        patchBatch(app, keyed(`twice-${round}`), withWeight(twice, round + 100)),
        patchBatch(app, keyed(`reversed-${round}`), withWeight(twice.toReversed(), round + 200)),
        ...numbers.map((number) => patchJob(app, agent, number, { labels: `single ${round}` })),
      ]);
      for (const response of responses) expectData(response);
    }
  });
});

it("an update that waits while its job is reassigned returns 404 to the former contractor", async () => {
  const [former, next] = [
    await app.createOrganization("contractor"),
    await app.createOrganization("contractor"),
  ];
  const [number = ""] = await app.createJobs(agent, [{ contractor: former }]);
  let updating: ReturnType<typeof patchJob> | undefined;
  await app.database.transaction(async (tx) => {
    await assignContractors(tx, [{ markingNumber: number, contractorId: next.id }], {
      actor: systemActor,
      requestId: null,
    });
    updating = patchJob(app, former, number, { weight: 1 });
    await waitForBlockedSessions(app.database, 1);
  });
  expectFailure((await updating) as Awaited<ReturnType<typeof patchJob>>, 404);
  expect(expectData(await getJob(app, next, number)).weight).toBeNull();
});

it("a read while the job is being changed does not wait and returns the old values", async () => {
  const number = await app.createJob(agent);
  const lock = await lockJobRow(app.database, number);
  const updating = patchJob(app, agent, number, { weight: 1 });
  await lock.waitForBlockedSessions();
  expect(expectData(await getJob(app, agent, number)).weight).toBeNull();
  await lock.release();
  expect(expectData(await updating).weight).toBe(1);
});
