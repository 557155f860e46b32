import { beforeAll, describe, expect, it } from "vitest";
import { newUuid } from "../../../src/core/ids.ts";
import { sql } from "../../../src/core/postgres/sql.ts";
import {
  allOrNothingOptions,
  dryRunOptions,
  sortedOrganizationIds,
  useOperatorJobFixture,
} from "../../support/jobs/operator-service.fixture.ts";
import { bulkOptions, summarizeOutcomes } from "../../support/jobs/service.fixture.ts";

const { services, agent, contractor, create, newJob, eventsOf } = useOperatorJobFixture();

beforeAll(async () => {
  await services().database.query(
    sql`alter table job add constraint no_feathers check (labels <> 'feathers')`,
  );
});

const policies = ["skip_failed", "all_or_nothing"] as const;

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

  it.each(policies)("rejects the second item with the same Marking Number: %s", async (errorPolicy) => {
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
  });

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

  it("creates the other jobs if the database rejects one", async () => {
    const jobs = [newJob(), newJob({ fields: { labels: "feathers" } }), newJob()];
    expect(summarizeOutcomes(await create(jobs))).toEqual(["created", "InternalServerError", "created"]);
  });

  it("creates none with all_or_nothing if one fails", async () => {
    const before = await services().countRows();
    const jobs = [newJob(), newJob({ fields: { labels: "feathers" } }), newJob({ agentId: newUuid() })];
    expect(summarizeOutcomes(await create(jobs, allOrNothingOptions))).toEqual([
      "not_applied",
      "InternalServerError",
      "BadRequest",
    ]);
    expect(await services().countRows()).toEqual(before);
    expect(services().notifications).toEqual({ workers: 0, organizationIds: [] });
  });

  it("creates nothing in a dry run but returns the results", async () => {
    const before = await services().countRows();
    const job = newJob({ contractorId: contractor().organizationId, fields: { weight: 1 } });
    expect(await create([job], dryRunOptions)).toMatchObject([
      { outcome: "created", job: { version: 2, weight: 1, contractor_id: contractor().organizationId } },
    ]);
    expect(await services().countRows()).toEqual(before);
    expect(services().notifications).toEqual({ workers: 0, organizationIds: [] });
  });
});
