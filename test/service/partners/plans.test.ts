/** The plans of the statements about organisations, at many rows of other organisations. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { newUuid } from "../../../src/core/ids.ts";
import type { Queryable } from "../../../src/core/postgres/database.ts";
import { sql } from "../../../src/core/postgres/sql.ts";
import { activitiesOf, numbersOf, organizationsNeedingAttention } from "../../../src/partners/api.ts";
import { startTestApp, type TestApp } from "../../support/app/app.fixture.ts";
import { insertMany } from "../../support/database/test-database.ts";

let app: TestApp;
let partners: { id: string }[];

const PARTNERS = 1_000;
const JOBS = 30_000;

beforeAll(async () => {
  app = await startTestApp({ WAYMARK_ROLE: "api" });
  const { database } = app;
  const ids = Array.from({ length: PARTNERS }, newUuid);
  partners = await database.query<{ id: string }>(sql`
    insert into organization (id, name, type)
    select id, 'plan ' || n, case n % 2 when 0 then 'agent' else 'contractor' end
    from unnest(${ids}::uuid[]) with ordinality partner (id, n) returning id`);
  await database.query(sql`
    insert into request_usage (organization_id, day, key_id, succeeded, refused, failed, duration_ms)
    select id, current_date - day, gen_random_uuid(), 9, 1, 0, 10 from organization, generate_series(0, 29) day`);
  await database.query(sql`
    insert into api_key (id, prefix, secret_hash, organization_id, name, scopes, created_by, last_used_at)
    select gen_random_uuid(), 'wmk_' || id || n, '', id, 'key', '{}', 'test', now() from organization, generate_series(1, 5) n`);
  await database.query(sql`
    insert into user_account (id, name, email, organization_id, role)
    select gen_random_uuid(), 'user', id || '-' || n, id, 'owner' from organization, generate_series(1, 5) n`);
  await database.query(sql`
    insert into invitation (id, organization_id, email, role, invited_by, invited_at)
    select gen_random_uuid(), id, 'invited-' || n, 'owner', 'test', now() from organization, generate_series(1, 5) n`);
  await database.query(sql`
    insert into webhook_endpoint (id, organization_id, url, secrets, created_by)
    select gen_random_uuid(), id, 'https://a.example', '[]', 'test' from organization, generate_series(1, 3) n`);
  await insertMany(
    database,
    JOBS,
    (numbers) => sql`
    insert into job (id, marking_number, agent_id, contractor_id, scheduled_date, normalized_status)
    select gen_random_uuid(), 'plan-' || n, (${ids}::uuid[])[(n % ${PARTNERS / 2}) * 2 + 2],
      (${ids}::uuid[])[(n % ${PARTNERS / 2}) * 2 + 1], current_date - 1, case n % 10 when 0 then 'pending' else 'completed' end
    from ${numbers} n`,
  );
  await database.query(sql`
    insert into job_counter (organization_id, kind, value, count)
    select agent_id, 'status', normalized_status, count(*) from job group by 1, 2, 3`);
  // One partner has many jobs, few of which can be late.
  await insertMany(
    database,
    JOBS / 2,
    (numbers) => sql`
    insert into job (id, marking_number, agent_id, scheduled_date, normalized_status)
    select gen_random_uuid(), 'large-' || n, ${ids[1]}::uuid, current_date - 1, 'completed'
    from ${numbers} n`,
  );
  await database.query(sql`analyze`);
}, 120_000);

afterAll(() => app[Symbol.asyncDispose]());

/** Returns the plan of the one statement that `read` runs. */
async function planOf(read: (on: Queryable) => Promise<unknown>): Promise<string> {
  const plans: string[] = [];
  const query: Queryable["query"] = async (statement) => {
    const lines = await app.database.query<{ "QUERY PLAN": string }>(
      sql`explain (analyze, buffers off) ${statement}`,
    );
    plans.push(lines.map((line) => line["QUERY PLAN"]).join("\n"));
    return [];
  };
  await read({ query });
  expect(plans).toHaveLength(1);
  return plans[0] as string;
}

/** Small tables, whose size does not depend on the number of partners. */
const seqScans = (plan: string): string[] =>
  [...plan.matchAll(/Seq Scan on (\w+)/g)]
    .map(([, table]) => table as string)
    .filter((table) => table !== "job_status" && table !== "job_counter_delta");

it("reads one organisation's numbers by indexes", async () => {
  const plan = await planOf((on) => numbersOf(on, partners[1]?.id as string));
  expect(seqScans(plan)).toEqual([]);
  for (const index of ["job_agent_status", "request_usage_pkey", "job_counter_pkey"])
    expect(plan).toContain(index);
});

it("reads the activity of a page of organisations by indexes", async () => {
  const ids = partners.slice(0, 30).map(({ id }) => id);
  const plan = await planOf((on) => activitiesOf(on, ids));
  expect(seqScans(plan)).toEqual([]);
});

it("finds what needs attention in one statement, without the usage before the last 7 days", async () => {
  const plan = await planOf((on) => organizationsNeedingAttention(on));
  expect(plan).toContain("request_usage_day");
  expect(seqScans(plan)).not.toContain("request_usage");
});
