/** The cost of an export: each page is read where the previous one ended. */
import { beforeAll, expect, it } from "vitest";
import { exportJobs } from "../../../src/jobs/import-export/export.ts";
import type { JobFilterTree } from "../../../src/jobs/list/filter.sql.ts";
import { systemPrincipal } from "../../../src/core/principal.ts";
import { sql } from "../../../src/core/postgres/sql.ts";
import { rowsRead, useJobServiceFixture } from "../../support/jobs/service.fixture.ts";
import { insertMany } from "../../support/database/test-database.ts";

const ORGANIZATIONS = 50;
const JOBS = 40_000;
/** The jobs of the largest agent, and as many of the largest contractor. */
const LARGEST = 12_000;

const services = useJobServiceFixture();
beforeAll(async () => {
  const { database } = services;
  await database.query(sql`
    insert into organization (id, name, type)
    select md5(type || n)::uuid, type || ' ' || n, type
    from generate_series(0, ${ORGANIZATIONS - 1}::int) n, unnest(array['agent', 'contractor']) type`);
  const ownerOf = (type: string) =>
    sql`md5(${type} || case when n <= ${LARGEST} then 0 else 1 + n % ${ORGANIZATIONS - 1} end)::uuid`;
  await insertMany(
    database,
    JOBS,
    (numbers) => sql`
    insert into job (id, marking_number, agent_id, contractor_id, created_at, delivery_address)
    select (lpad(to_hex(n), 8, '0') || '-0000-7000-8000-000000000000')::uuid, 'EXPORT-' || n, ${ownerOf("agent")},
      ${ownerOf("contractor")}, now() - (${JOBS} - n) * interval '1 s', repeat('d', 100)
    from ${numbers} n`,
  );
  await database.query(sql`analyze job`);
});

it.each([
  ["all jobs", null, JOBS],
  ["an agent's jobs", "agentId", LARGEST],
  ["a contractor's jobs", "contractorId", LARGEST],
] as const)("an export of %s reads the table once", async (_name, key, jobs) => {
  const type = key === "agentId" ? "agent" : "contractor";
  const [largest] = await services.database.query<{ id: string }>(sql`select md5(${type} || 0)::uuid as id`);
  const filter: JobFilterTree = key === null ? {} : { [key]: [largest?.id] };
  await services.database.transaction(async (tx) => {
    const before = await rowsRead(tx);
    let exported = 0;
    for await (const { jobCount } of exportJobs(tx, systemPrincipal, {
      filter,
      order: { field: "id", descending: false },
      format: "ndjson",
    }))
      exported += jobCount;
    expect(exported).toBe(jobs);
    // One row more per page tells whether another page follows.
    expect((await rowsRead(tx)) - before).toBeLessThan(JOBS * 1.1);
  });
});
