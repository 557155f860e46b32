/** The cost of a list by several statuses: it reads no jobs of other statuses. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { listJobs, type JobListQuery } from "../../../src/jobs/list/list.sql.ts";
import type { Transaction } from "../../../src/core/postgres/transaction.ts";
import type { OrganizationPrincipal } from "../../../src/core/principal.ts";
import { sql } from "../../../src/core/postgres/sql.ts";
import { openJobServiceFixture, type JobServiceFixture } from "../../support/jobs/service.fixture.ts";
import { insertMany } from "../../support/database/test-database.ts";

const JOBS = 6_000;

let services: JobServiceFixture;
let agent: OrganizationPrincipal;
beforeAll(async () => {
  services = await openJobServiceFixture();
  agent = await services.createOrganization("agent");
  // The oldest 30 jobs have failed, and the others are completed.
  await insertMany(
    services.database,
    JOBS,
    (numbers) => sql`
    insert into job (id, marking_number, agent_id, normalized_status, created_at)
    select gen_random_uuid(), 'LIST-' || n, ${agent.organizationId},
      case when n <= 30 then 'failed' else 'completed' end, now() - (${JOBS} - n) * interval '1 s'
    from ${numbers} n`,
  );
  await services.database.query(sql`analyze job`);
});
afterAll(() => services[Symbol.asyncDispose]());

/** The rows of jobs that this connection has read since it last reported them. */
async function rowsRead(tx: Transaction): Promise<number> {
  const [job] = await tx.query<{ read: number }>(sql`
    select (seq_tup_read + idx_tup_fetch)::int as read from pg_stat_xact_user_tables where relname = 'job'`);
  return job?.read ?? 0;
}

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
