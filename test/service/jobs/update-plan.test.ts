import { afterAll, beforeAll, expect, it } from "vitest";
import { updateRows } from "../../../src/jobs/update/update-and-fan-out.sql.ts";
import { systemActor, type OrganizationPrincipal } from "../../../src/core/principal.ts";
import { sql } from "../../../src/core/postgres/sql.ts";
import { openJobServiceFixture, type JobServiceFixture } from "../../support/jobs/service.fixture.ts";
import { insertMany } from "../../support/database/test-database.ts";

/** Enough that the index is faster for 100 jobs, but few enough that the planner could choose a sequential scan. */
const JOBS = 6_000;

let services: JobServiceFixture;
let agent: OrganizationPrincipal;
beforeAll(async () => {
  services = await openJobServiceFixture();
  agent = await services.createOrganization("agent");
  const { database } = services;
  await insertMany(
    database,
    JOBS,
    (numbers) => sql`
    insert into job (id, marking_number, agent_id, recipient_name, delivery_address, instructions)
    select gen_random_uuid(), 'PLAN-' || n, ${agent.organizationId}, repeat('r', 60), repeat('d', 120), repeat('i', 120)
    from ${numbers} n`,
  );
  await database.query(sql`analyze job`);
});
afterAll(() => services[Symbol.asyncDispose]());

it.each([1, 100])("an update of %i jobs uses the index on Marking Numbers", async (count) => {
  const { database } = services;
  const updates = Array.from({ length: count }, (_, index) => ({
    markingNumber: `PLAN-${index * 50 + 1}`,
    patch: { weight: count },
  }));
  const context = { actor: systemActor, requestId: "req_test", dryRun: false };
  const scans = await database.transaction(async (tx) => {
    const outcomes = await updateRows(tx, agent, updates, context);
    expect(outcomes.filter(({ kind }) => kind === "updated")).toHaveLength(count);
    const [row] = await tx.query<{ scans: number }>(
      sql`select seq_scan::int as scans from pg_stat_xact_user_tables where relname = 'job'`,
    );
    return row?.scans;
  });
  expect(scans).toBe(0);
});
