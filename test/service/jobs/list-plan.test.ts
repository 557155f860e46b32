/** The cost of a list by several statuses, and of an update: they read no other jobs. */
import { beforeAll, expect, it } from "vitest";
import { listJobs, type JobListQuery } from "../../../src/jobs/list/list.sql.ts";
import { updateRows } from "../../../src/jobs/update/update-and-fan-out.sql.ts";
import type { OrganizationPrincipal } from "../../../src/core/principal.ts";
import { sql } from "../../../src/core/postgres/sql.ts";
import { bulkOptions, rowsRead, useJobServiceFixture } from "../../support/jobs/service.fixture.ts";
import { insertMany } from "../../support/database/test-database.ts";

/** Enough that the index is faster for 100 jobs, but few enough that the planner could choose a sequential scan. */
const JOBS = 6_000;

const services = useJobServiceFixture();
let agent: OrganizationPrincipal;
beforeAll(async () => {
  agent = await services.createOrganization("agent");
  // The oldest 30 jobs have failed, and the others are completed.
  await insertMany(
    services.database,
    JOBS,
    (numbers) => sql`
    insert into job (id, marking_number, agent_id, normalized_status, created_at, recipient_name, delivery_address, instructions)
    select gen_random_uuid(), 'PLAN-' || n, ${agent.organizationId},
      case when n <= 30 then 'failed' else 'completed' end, now() - (${JOBS} - n) * interval '1 s',
      repeat('r', 60), repeat('d', 120), repeat('i', 120)
    from ${numbers} n`,
  );
  await services.database.query(sql`analyze job`);
});

it.each<[string, JobListQuery["filter"], number]>([
  ["several statuses", { normalizedStatus: { in: ["failed", "on_hold"] } }, 10],
  ["a category", { statusCategory: ["attention"] }, 10],
  ["statuses that no job has", { normalizedStatus: { in: ["pending", "on_hold"] } }, 0],
])("a page of jobs with %s reads only those", async (_what, filter, expected) => {
  const pages: JobListQuery["page"][] = [
    { limit: 10, offset: 0 },
    { direction: "forward", limit: 10, position: null },
  ];
  for (const page of pages) {
    const read = await services.database.transaction(async (tx) => {
      const order = { field: "created_at", descending: true } as const;
      const include = { items: true, total: false };
      const before = await rowsRead(tx);
      const { items } = await listJobs(tx, agent, { filter, order, page, include });
      expect(items).toHaveLength(expected);
      return (await rowsRead(tx)) - before;
    });
    expect(read).toBeLessThan(100);
  }
});

it.each([1, 100])("an update of %i jobs uses the index on Marking Numbers", async (count) => {
  const updates = Array.from({ length: count }, (_, index) => ({
    markingNumber: `PLAN-${index * 50 + 1}`,
    patch: { weight: count },
  }));
  await services.database.transaction(async (tx) => {
    const before = await rowsRead(tx);
    const outcomes = await updateRows(tx, agent, updates, bulkOptions);
    expect(outcomes.filter(({ kind }) => kind === "updated")).toHaveLength(count);
    expect((await rowsRead(tx)) - before).toBeLessThan(JOBS / 2);
  });
});
