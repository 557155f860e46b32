import { beforeAll, describe, expect, it } from "vitest";
import type { BatchOptions } from "../../../src/jobs/service.ts";
import type { OrganizationPrincipal } from "../../../src/core/principal.ts";
import {
  allOrNothingOptions,
  newMarkingNumber,
  operatorPrincipal,
  bulkOptions,
  sortedOrganizationIds,
  summarizeOutcomes,
  useJobServiceFixture,
} from "../../support/jobs/service.fixture.ts";

const services = useJobServiceFixture();
let agent: OrganizationPrincipal;
let contractor: OrganizationPrincipal;

beforeAll(async () => {
  agent = await services.createOrganization("agent");
  contractor = await services.createOrganization("contractor");
});

const jobs = (count: number): Promise<string[]> =>
  Promise.all(Array.from({ length: count }, () => services.createJob(agent)));
const weighing = (markingNumber: string, weight: number, ...expectedVersions: number[]) => ({
  markingNumber,
  body: { weight },
  ...(expectedVersions.length > 0 && { expectedVersions }),
});
const update = async (
  items: readonly ReturnType<typeof weighing>[],
  options: BatchOptions = bulkOptions,
  principal: OrganizationPrincipal | typeof operatorPrincipal = agent,
) => (await services.jobs.updateBatch(principal, items, options)).results;

describe("a batch with skip_failed", () => {
  it("returns for each item its outcome and the job with its organisations", async () => {
    const [one = "", two = ""] = await jobs(2);
    await update([weighing(two, 7)]);
    const results = await update([weighing(one, 7), weighing(two, 7), weighing(newMarkingNumber(), 7)]);
    expect(summarizeOutcomes(results)).toEqual(["updated", "unchanged", "NotFound"]);
    expect(results[0]).toMatchObject({
      markingNumber: one,
      job: { version: 2, weight: 7, agent_id: agent.organizationId, contractor_id: null },
    });
    expect(results[1]).toMatchObject({ job: { version: 2, agent_id: agent.organizationId } });
  });

  it("fails an item with an unexpected version, names the current version, and applies the other items", async () => {
    const [one = "", two = "", three = ""] = await jobs(3);
    const results = await update([weighing(one, 1, 4), weighing(two, 1, 1), weighing(three, 1, 9, 1)]);
    expect(summarizeOutcomes(results)).toEqual(["PreconditionFailed", "updated", "updated"]);
    expect(results[0]).toMatchObject({ failure: { message: expect.stringContaining("version 1,") } });
    expect((await services.readJob(one)).version).toBe(1);
  });

  it("uses the caller's path in problems", async () => {
    const item = { markingNumber: await services.createJob(agent), body: { weight: "heavy" } };
    const options = { ...bulkOptions, pathOf: (index: number) => `items.${index}.patch.` };
    const { results } = await services.jobs.updateBatch(agent, [item], options);
    expect(results).toMatchObject([
      {
        outcome: "failed",
        failure: {
          code: "BadRequestException",
          message: "weight must be a number or null",
          problems: [{ field: "items.0.patch.weight" }],
        },
      },
    ]);
  });

  it.each(["", "\0", "\ud800", "x".repeat(121)])("rejects the Marking Number %j", async (markingNumber) => {
    const number = await services.createJob(agent);
    const results = await update([weighing(markingNumber, 1), weighing(number, 1)]);
    expect(results).toMatchObject([
      {
        outcome: "failed",
        failure: { code: "BadRequestException", problems: [{ field: "markingNumber" }] },
      },
      { outcome: "updated" },
    ]);
  });
});

/** Updates the jobs and returns the number of SQL statements. */
async function countStatements(markingNumbers: readonly string[], options: BatchOptions): Promise<number> {
  const weight = Math.random();
  services.statements.length = 0;
  const results = await update(
    markingNumbers.map((number) => weighing(number, weight)),
    options,
  );
  expect(results.every(({ outcome }) => outcome === "updated")).toBe(true);
  return services.statements.length;
}

describe("a batch with all_or_nothing", () => {
  it("applies all valid items in order, including two for the same job", async () => {
    const [one = "", two = ""] = await jobs(2);
    const results = await update(
      [weighing(one, 1, 1), weighing(two, 5), weighing(one, 2, 2)],
      allOrNothingOptions,
    );
    expect(summarizeOutcomes(results)).toEqual(["updated", "updated", "updated"]);
    expect(results.map((result) => "job" in result && [result.job.version, result.job.weight])).toEqual([
      [2, 1],
      [2, 5],
      [3, 2],
    ]);
    expect(await services.readJob(one)).toMatchObject({ version: 3, weight: 2 });
    expect(services.notifications).toEqual({ workers: 1, organizationIds: [sortedOrganizationIds(agent)] });
  });

  const failures = [
    [
      "an invalid patch",
      (number: string) => ({ markingNumber: number, body: { weight: "x" } }),
      "BadRequest",
    ],
    [
      "a job that does not exist",
      () => ({ markingNumber: newMarkingNumber(), body: { weight: 1 } }),
      "NotFound",
    ],
    [
      "an unexpected version",
      (number: string) => ({ markingNumber: number, body: { weight: 1 }, expectedVersions: [2] }),
      "PreconditionFailed",
    ],
  ] as const;

  // evidence: batch-all-or-nothing
  it.each(failures)("changes, records and notifies nothing for %s", async (_, failing, code) => {
    const [one = "", two = "", three = ""] = await jobs(3);
    const before = await services.countRows();
    const items = [weighing(one, 1), failing(two), weighing(three, 1)];
    const { results } = await services.jobs.updateBatch(agent, items, allOrNothingOptions);
    expect(summarizeOutcomes(results)).toEqual(["not_applied", code, "not_applied"]);
    expect(results.some((result) => "job" in result)).toBe(false);
    for (const number of [one, two, three])
      expect(await services.readJob(number)).toMatchObject({ version: 1, weight: null });
    expect(await services.countRows()).toEqual(before);
    expect(services.notifications).toEqual({ workers: 0, organizationIds: [] });
  });

  it("needs the same number of statements for 100 jobs as for one", async () => {
    const numbers = await jobs(100);
    expect(await countStatements(numbers.slice(0, 1), bulkOptions)).toBe(1);
    expect(await countStatements(numbers, bulkOptions)).toBe(1);
    // begin, the change, commit
    expect(await countStatements(numbers.slice(0, 1), allOrNothingOptions)).toBe(3);
    expect(await countStatements(numbers, allOrNothingOptions)).toBe(3);
  });

  it("does not deadlock with batches of the same jobs in another order", async () => {
    const numbers = await jobs(20);
    const rounds = Array.from({ length: 6 }, (_, round) =>
      update(
        (round % 2 === 0 ? numbers : numbers.toReversed()).map((number) => weighing(number, round)),
        allOrNothingOptions,
      ),
    );
    const results = (await Promise.all(rounds)).flat();
    expect(results.every(({ outcome }) => outcome === "updated")).toBe(true);
  });
});

describe("a dry run", () => {
  it.each(["skip_failed", "all_or_nothing"] as const)(
    "returns the results but changes and notifies nothing: %s",
    async (errorPolicy) => {
      const [one = "", two = ""] = await jobs(2);
      const before = await services.countRows();
      const options = { ...bulkOptions, errorPolicy, dryRun: true };
      const results = await update([weighing(one, 1), weighing(two, 2), weighing(one, 3)], options);
      expect(results).toMatchObject([
        { outcome: "updated", job: { version: 2, weight: 1 } },
        { outcome: "updated", job: { version: 2, weight: 2 } },
        { outcome: "updated", job: { version: 3, weight: 3 } },
      ]);
      const [failed] = summarizeOutcomes(
        await update([weighing(one, 1), weighing(newMarkingNumber(), 2)], options),
      );
      expect(failed).toBe(errorPolicy === "skip_failed" ? "updated" : "not_applied");
      await services.jobs.updateOne(agent, weighing(one, 1), { ...bulkOptions, dryRun: true });
      expect(await services.countRows()).toEqual(before);
      expect(await services.readJob(one)).toMatchObject({ version: 1, weight: null });
      expect(services.notifications).toEqual({ workers: 0, organizationIds: [] });
    },
  );
});

describe("subscribers", () => {
  it("are notified once per agent and contractor of the changed jobs", async () => {
    const other = await services.createOrganization("agent");
    const assigned = await services.createJob(agent, { contractorId: contractor.organizationId });
    const unchanged = await services.createJob(other);
    await update([weighing(unchanged, 1)], bulkOptions, other);
    services.notifications.organizationIds = [];
    const items = [
      weighing(assigned, 1),
      weighing(await services.createJob(agent), 1),
      weighing(unchanged, 1),
    ];
    expect(summarizeOutcomes(await update(items, bulkOptions, operatorPrincipal))).toEqual([
      "updated",
      "updated",
      "unchanged",
    ]);
    expect(services.notifications.organizationIds).toEqual([sortedOrganizationIds(agent, contractor)]);
  });

  it("are notified of a single update, but not if nothing changed", async () => {
    const number = await services.createJob(agent, { contractorId: contractor.organizationId });
    const { result } = await services.jobs.updateOne(contractor, weighing(number, 1), bulkOptions);
    const organizations = { agent_id: agent.organizationId, contractor_id: contractor.organizationId };
    expect(result).toMatchObject({ outcome: "updated", job: organizations });
    expect(services.notifications.organizationIds).toEqual([sortedOrganizationIds(agent, contractor)]);
    await services.jobs.updateOne(contractor, weighing(number, 1), bulkOptions);
    await update([weighing(number, 1)]);
    expect(services.notifications.organizationIds).toHaveLength(1);
  });
});

describe("an operator", () => {
  it("updates jobs of every agent, one by one and in batches", async () => {
    const other = await services.createOrganization("agent");
    const [mine, theirs] = [await services.createJob(agent), await services.createJob(other)];
    expect(
      summarizeOutcomes(
        await update([weighing(mine, 1), weighing(theirs, 1)], bulkOptions, operatorPrincipal),
      ),
    ).toEqual(["updated", "updated"]);
    const { result } = await services.jobs.updateOne(operatorPrincipal, weighing(theirs, 2), bulkOptions);
    expect(result).toMatchObject({ job: { weight: 2, agent_id: other.organizationId } });
    expect(summarizeOutcomes(await update([weighing(theirs, 3)]))).toEqual(["NotFound"]);
  });

  // evidence: job-carrier-status-read-only
  it("cannot set the provider status with a patch", async () => {
    const number = await services.createJob(agent);
    const items = [{ markingNumber: number, body: { weight: 1, provider_status: "mine" } }];
    const { results, ignored } = await services.jobs.updateBatch(operatorPrincipal, items, bulkOptions);
    expect(results).toMatchObject([{ outcome: "updated", job: { provider_status: null } }]);
    expect(ignored).toEqual(["provider_status"]);
  });
});

describe("an update in the caller's transaction", () => {
  it("changes and notifies nothing if the transaction is rolled back", async () => {
    const [one = ""] = await jobs(1);
    await services.database.transaction(
      (tx) => services.jobs.updateOne(agent, weighing(one, 1), { ...bulkOptions, tx }),
      "rollback",
    );
    expect(await services.readJob(one)).toMatchObject({ weight: null, version: 1 });
    expect(services.notifications.organizationIds).toEqual([]);
  });

  it("rolls back only dry runs and failed all_or_nothing batches, and notifies after the commit", async () => {
    const [one = "", two = ""] = await jobs(2);
    await services.database.transaction(async (tx) => {
      await update([weighing(one, 1)], { ...bulkOptions, tx });
      await services.jobs.updateOne(agent, weighing(one, 2), { ...bulkOptions, tx });
      await update([weighing(one, 2), weighing(two, 2)], { ...bulkOptions, tx, dryRun: true });
      await services.jobs.updateOne(agent, weighing(two, 3), { ...bulkOptions, tx, dryRun: true });
      const refused = await update([weighing(one, 4), weighing(newMarkingNumber(), 4)], {
        ...allOrNothingOptions,
        tx,
      });
      expect(summarizeOutcomes(refused)).toEqual(["not_applied", "NotFound"]);
      expect(services.notifications.organizationIds).toEqual([]);
    });
    expect(await services.readJob(one)).toMatchObject({ weight: 2, version: 3 });
    expect(await services.readJob(two)).toMatchObject({ weight: null, version: 1 });
    expect(services.notifications.organizationIds).toEqual([
      sortedOrganizationIds(agent),
      sortedOrganizationIds(agent),
    ]);
  });
});
