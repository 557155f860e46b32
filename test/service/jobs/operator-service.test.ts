import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { newUuid } from "../../../src/core/ids.ts";
import type { OrganizationPrincipal } from "../../../src/core/principal.ts";
import { sql } from "../../../src/core/postgres/sql.ts";
import { dryRunOptions, useOperatorJobFixture } from "../../support/jobs/operator-service.fixture.ts";
import {
  allOrNothingOptions,
  newMarkingNumber,
  operatorPrincipal,
  bulkOptions,
  sortedOrganizationIds,
  summarizeOutcomes,
} from "../../support/jobs/service.fixture.ts";
import {
  openTransaction,
  lockJobRow,
  waitForBlockedSessions,
} from "../../support/database/blocked-sessions.ts";

const { services, agent, contractor, create, newJob, eventsOf } = useOperatorJobFixture();

const assign = (markingNumbers: readonly string[], to: OrganizationPrincipal | null, options = bulkOptions) =>
  services().operatorJobs.assignJobs(
    operatorPrincipal,
    markingNumbers.map((markingNumber) => ({ markingNumber, contractorId: to?.organizationId ?? null })),
    options,
  );
const setStatus = (markingNumbers: readonly string[], providerStatus: string | null, options = bulkOptions) =>
  services().operatorJobs.setProviderStatus(
    operatorPrincipal,
    markingNumbers.map((markingNumber) => ({ markingNumber, providerStatus })),
    options,
  );

async function statementsOf(work: () => Promise<unknown>): Promise<number> {
  services().statements.length = 0;
  await work();
  return services().statements.length;
}

/** The numbers of statements needed to create, unassign and update `count` jobs. */
async function statementsFor(count: number): Promise<number[]> {
  const jobs = Array.from({ length: count }, () => newJob({ contractorId: contractor().organizationId }));
  const numbers = jobs.map(({ markingNumber }) => markingNumber);
  const works = [() => create(jobs), () => assign(numbers, null), () => setStatus(numbers, "At hub")];
  const statements = [];
  for (const work of works) statements.push(await statementsOf(work));
  return statements;
}

describe("creating jobs", () => {
  it("sets the given fields and the provider status, and defaults for the others", async () => {
    const bare = newJob();
    const full = newJob({
      contractorId: contractor().organizationId,
      fields: { weight: 2.5, recipient_name: "Ann", normalized_status: "scheduled" },
      providerStatus: "At hub",
    });
    const results = await create([bare, full]);
    expect(results).toMatchObject([
      {
        markingNumber: bare.markingNumber,
        outcome: "created",
        job: {
          version: 1,
          normalized_status: "pending",
          scheduled_delivery_pending: false,
          provider_status: null,
          agent_id: agent().organizationId,
          contractor_id: null,
        },
      },
      {
        markingNumber: full.markingNumber,
        outcome: "created",
        job: {
          version: 2,
          weight: 2.5,
          recipient_name: "Ann",
          normalized_status: "scheduled",
          provider_status: "At hub",
          contractor_id: contractor().organizationId,
        },
      },
    ]);
    expect(await services().readJob(full.markingNumber)).toMatchObject({ version: 2, weight: 2.5 });
  });

  it("records creations, assignments and deliveries, and notifies workers and subscribers", async () => {
    const before = await services().countRows();
    const bare = newJob();
    const assigned = newJob({ contractorId: contractor().organizationId, fields: { weight: 1 } });
    await create([bare, assigned]);
    expect(await eventsOf(bare.markingNumber)).toMatchObject([
      { type: "job.created", sequence: 1, request_id: "req_test" },
    ]);
    expect(await eventsOf(assigned.markingNumber)).toMatchObject([
      { type: "job.created", changes: { weight: { from: null, to: 1 } } },
      { type: "job.assigned", changes: { contractor_id: { from: null, to: contractor().organizationId } } },
    ]);
    // The agent's endpoint gets all three events, the contractor's the assignment.
    const { jobs, events, deliveries } = await services().countRows();
    expect([jobs - before.jobs, events - before.events, deliveries - before.deliveries]).toEqual([2, 3, 4]);
    expect(services().notifications).toEqual({
      workers: 1,
      organizationIds: [sortedOrganizationIds(agent(), contractor())],
    });
  });

  it("returns a conflict for an existing Marking Number of any agent and does not change that job", async () => {
    const other = await services().createOrganization("agent");
    const numbers = [await services().createJob(agent()), await services().createJob(other)];
    const taken = numbers.map((markingNumber) => newJob({ markingNumber, fields: { weight: 9 } }));
    const results = await create([...taken, newJob()]);
    expect(summarizeOutcomes(results)).toEqual(["Conflict", "Conflict", "created"]);
    expect(results[0]).toMatchObject({
      failure: { message: "A job with this Marking Number already exists" },
    });
    for (const number of numbers)
      expect(await services().readJob(number)).toMatchObject({ version: 1, weight: null });
  });

  it.each(["skip_failed", "all_or_nothing"] as const)(
    "rejects the second item with the same Marking Number: %s",
    async (errorPolicy) => {
      const twice = newJob({ fields: { weight: 1 } });
      const results = await create([twice, { ...twice, fields: { weight: 2 } }], {
        ...bulkOptions,
        errorPolicy,
      });
      const isAll = errorPolicy === "all_or_nothing";
      expect(summarizeOutcomes(results)).toEqual([isAll ? "not_applied" : "created", "Conflict"]);
      expect(await services().readJob(twice.markingNumber)).toMatchObject(
        isAll ? { version: 0 } : { version: 1, weight: 1 },
      );
    },
  );

  it("reports every problem of an invalid item with its path", async () => {
    const wrong = newJob({
      markingNumber: "",
      agentId: contractor().organizationId,
      contractorId: agent().organizationId,
      fields: { weight: "x", normalized_status: "nowhere" },
      providerStatus: "x".repeat(256),
    });
    const [result] = await create([wrong]);
    expect(result).toMatchObject({ outcome: "failed", failure: { code: "BadRequestException" } });
    const failure = result && "failure" in result ? result.failure : null;
    expect(failure?.message).toBe("markingNumber must not be empty");
    expect(failure?.problems.map(({ field }) => field)).toEqual([
      "markingNumber",
      "agentId",
      "contractorId",
      "fields.weight",
      "fields.normalized_status",
      "providerStatus",
    ]);
  });

  it.each([() => newUuid(), () => "no uuid", () => ""])("rejects unknown organisations", async (id) => {
    const results = await create([newJob({ agentId: id() }), newJob({ contractorId: id() }), newJob()]);
    expect(results).toMatchObject([
      { failure: { code: "BadRequestException", problems: [{ field: "agentId" }] } },
      { failure: { code: "BadRequestException", problems: [{ field: "contractorId" }] } },
      { outcome: "created" },
    ]);
  });
});

describe("concurrent calls", () => {
  beforeAll(async () => {
    await services().createJob(agent(), { markingNumber: "gate" });
    await services().database.query(sql`create function wait() returns trigger language plpgsql as $$
      begin
        if new.labels = 'slow' then perform 1 from job where marking_number = 'gate' for share; end if;
        return new;
      end $$`);
    await services().database.query(
      sql`create trigger wait before insert on job for each row execute function wait()`,
    );
  });
  afterAll(() => services().database.query(sql`drop trigger wait on job`));

  it("that create the same jobs in another order wait for each other and do not deadlock", async () => {
    const [first, second] = [newJob({ markingNumber: "meet-1" }), newJob({ markingNumber: "meet-2" })];
    const gate = await lockJobRow(services().database, "gate");
    const one = create([first, { ...second, fields: { labels: "slow" } }]);
    await gate.waitForBlockedSessions(1);
    const other = create([second, first]);
    await gate.waitForBlockedSessions(2);
    await gate.release();
    expect(summarizeOutcomes(await one)).toEqual(["created", "created"]);
    expect(summarizeOutcomes(await other)).toEqual(["Conflict", "Conflict"]);
  });

  it("lock the same jobs in id order", async () => {
    const older = await services().createJob(agent(), { markingNumber: "order-z" });
    const newer = await services().createJob(agent(), { markingNumber: "order-a" });
    // `older` is first by id, but last by Marking Number and by its position on disk.
    await setStatus([older], "Moved");
    const gate = await lockJobRow(services().database, newer);
    const assigned = assign([newer, older], contractor());
    await gate.waitForBlockedSessions(1);
    const updated = setStatus([newer, older], "Moved again");
    await gate.waitForBlockedSessions(2);
    await gate.release();
    expect((await Promise.all([assigned, updated])).flatMap(summarizeOutcomes)).toEqual(
      Array(4).fill("updated"),
    );
  });

  it("return the current state of a job that was reassigned meanwhile", async () => {
    const number = await services().createJob(agent(), { contractorId: contractor().organizationId });
    const unassigning = await openTransaction(
      services().database,
      sql`update job set contractor_id = null where marking_number = ${number}`,
    );
    const assigned = assign([number], contractor());
    await waitForBlockedSessions(services().database, 1);
    await unassigning.commit();
    expect(await assigned).toMatchObject([
      { outcome: "updated", job: { contractor_id: contractor().organizationId } },
    ]);
  });
});

describe("assigning jobs", () => {
  it("assigns and unassigns jobs with an event each time", async () => {
    const number = await services().createJob(agent());
    const [assigned] = await assign([number], contractor());
    expect(assigned).toMatchObject({
      outcome: "updated",
      job: { version: 2, contractor_id: contractor().organizationId },
    });
    expect(services().notifications).toEqual({
      workers: 1,
      organizationIds: [sortedOrganizationIds(agent(), contractor())],
    });
    const [unassigned] = await assign([number], null);
    expect(unassigned).toMatchObject({ outcome: "updated", job: { version: 3, contractor_id: null } });
    expect((await eventsOf(number)).map(({ type }) => type)).toEqual([
      "job.created",
      "job.assigned",
      "job.updated",
      "job.unassigned",
    ]);
    // The former contractor has an event, too.
    expect(services().notifications.organizationIds.at(-1)).toEqual(
      sortedOrganizationIds(agent(), contractor()),
    );
  });

  it("changes and notifies nothing if the contractor already has the job", async () => {
    const number = await services().createJob(agent(), { contractorId: contractor().organizationId });
    const before = await services().countRows();
    const [result] = await assign([number], contractor());
    expect(result).toMatchObject({
      outcome: "unchanged",
      job: { version: 2, contractor_id: contractor().organizationId },
    });
    expect(await services().countRows()).toEqual(before);
    expect(services().notifications).toEqual({ workers: 0, organizationIds: [] });
  });

  it("rejects unknown jobs, invalid Marking Numbers and organisations that are not contractors", async () => {
    const number = await services().createJob(agent());
    expect(summarizeOutcomes(await assign([newMarkingNumber(), "\0", number], contractor()))).toEqual([
      "NotFound",
      "BadRequest",
      "updated",
    ]);
    for (const invalid of [agent(), { ...contractor(), organizationId: newUuid() }])
      expect(await assign([number], invalid)).toMatchObject([
        { failure: { code: "BadRequestException", problems: [{ field: "contractorId" }] } },
      ]);
  });

  it("assigns the same job twice in order, but with all_or_nothing not if another item fails", async () => {
    const number = await services().createJob(agent());
    const other = await services().createOrganization("contractor");
    const twice = [contractor(), other].map(({ organizationId }) => ({
      markingNumber: number,
      contractorId: organizationId,
    }));
    const missing = { markingNumber: newMarkingNumber(), contractorId: null };
    const refused = await services().operatorJobs.assignJobs(
      operatorPrincipal,
      [...twice, missing],
      allOrNothingOptions,
    );
    expect(summarizeOutcomes(refused)).toEqual(["not_applied", "not_applied", "NotFound"]);
    expect(await services().readJob(number)).toMatchObject({ version: 1, contractor_id: null });
    expect(services().notifications.organizationIds).toEqual([]);
    expect(
      await services().operatorJobs.assignJobs(operatorPrincipal, twice, allOrNothingOptions),
    ).toMatchObject([
      { outcome: "updated", job: { version: 2, contractor_id: contractor().organizationId } },
      { outcome: "updated", job: { version: 3, contractor_id: other.organizationId } },
    ]);
  });
});

describe("setting the provider status", () => {
  it("changes the job and records an event", async () => {
    const number = await services().createJob(agent(), { contractorId: contractor().organizationId });
    expect(await setStatus([number], "At hub")).toMatchObject([
      { outcome: "updated", job: { version: 3, provider_status: "At hub", normalized_status: "pending" } },
    ]);
    expect((await eventsOf(number)).at(-1)).toMatchObject({
      type: "job.updated",
      sequence: 3,
      changes: { provider_status: { from: null, to: "At hub" } },
    });
    expect(services().notifications).toEqual({
      workers: 1,
      organizationIds: [sortedOrganizationIds(agent(), contractor())],
    });
    expect(summarizeOutcomes(await setStatus([number], "At hub"))).toEqual(["unchanged"]);
    expect(await setStatus([number], null)).toMatchObject([
      { outcome: "updated", job: { version: 4, provider_status: null } },
    ]);
  });

  it("rejects invalid statuses and unknown jobs; with all_or_nothing it then changes nothing", async () => {
    const number = await services().createJob(agent());
    const changes = [
      { markingNumber: number, providerStatus: "fine" },
      { markingNumber: number, providerStatus: "x".repeat(256) },
      { markingNumber: newMarkingNumber(), providerStatus: "fine" },
    ];
    expect(
      summarizeOutcomes(
        await services().operatorJobs.setProviderStatus(operatorPrincipal, changes, allOrNothingOptions),
      ),
    ).toEqual(["not_applied", "BadRequest", "NotFound"]);
    expect(await services().readJob(number)).toMatchObject({ version: 1, provider_status: null });
    const results = await services().operatorJobs.setProviderStatus(operatorPrincipal, changes, bulkOptions);
    expect(summarizeOutcomes(results)).toEqual(["updated", "BadRequest", "NotFound"]);
    expect(results[1]).toMatchObject({ failure: { problems: [{ field: "providerStatus" }] } });
  });
});

describe("operator operations", () => {
  it("change nothing in a dry run but return the results", async () => {
    const number = await services().createJob(agent());
    const before = await services().countRows();
    const job = newJob({ contractorId: contractor().organizationId, fields: { weight: 1 } });
    expect([
      ...(await create([job], dryRunOptions)),
      ...(await assign([number], contractor(), dryRunOptions)),
      ...(await setStatus([number], "At hub", dryRunOptions)),
    ]).toMatchObject([
      { outcome: "created", job: { version: 2, weight: 1, contractor_id: contractor().organizationId } },
      { outcome: "updated", job: { version: 2, contractor_id: contractor().organizationId } },
      { outcome: "updated", job: { version: 2, provider_status: "At hub" } },
    ]);
    expect(await services().countRows()).toEqual(before);
    expect(await services().readJob(number)).toMatchObject({ version: 1, contractor_id: null });
    expect(services().notifications).toEqual({ workers: 0, organizationIds: [] });
  });

  it("need the same number of statements for 100 jobs as for one", async () => {
    const one = await statementsFor(1);
    expect(await statementsFor(100)).toEqual(one);
    expect(one).toEqual([6, 5, 1]);
  });
});
