/** How much of each table an organisation uses. */
import { afterAll, expect, it } from "vitest";
import { newUuid } from "../../../src/core/ids.ts";
import { raw, sql } from "../../../src/core/postgres/sql.ts";
import { storageOf } from "../../../src/partners/api.ts";
import { startTestApp, type TestOrganization } from "../../support/app/app.fixture.ts";

const app = await startTestApp({ WAYMARK_ROLE: "api" });
const [agent, other] = [await app.createOrganization("agent"), await app.createOrganization("agent")];
afterAll(() => app[Symbol.asyncDispose]());

async function sizeOf(table: string): Promise<number> {
  const [row] = await app.database.query<{ bytes: number }>(
    raw(`select sum(pg_total_relation_size(oid))::float8 as bytes from pg_class where relkind = 'r'
      and (oid = '${table}'::regclass or oid in (select relid from pg_partition_tree('${table}')))`),
  );
  return row?.bytes ?? 0;
}

async function addJobs({ id }: TestOrganization, count: number): Promise<void> {
  await app.database.query(sql`
    insert into job (id, marking_number, agent_id, normalized_status)
    select gen_random_uuid(), gen_random_uuid()::text, ${id}::uuid, 'pending' from generate_series(1, ${count}::int)`);
}

async function addDeliveries({ id }: TestOrganization, count: number): Promise<void> {
  const endpoint = newUuid();
  await app.database.query(sql`
    insert into webhook_endpoint (id, organization_id, url, secrets, created_by)
    values (${endpoint}, ${id}::uuid, 'https://a.example', '[]', 'test')`);
  await app.database.query(sql`
    insert into webhook_delivery (id, endpoint_id, event_id, event_type)
    select gen_random_uuid(), ${endpoint}::uuid, gen_random_uuid(), 'job.updated' from generate_series(1, ${count}::int)`);
}

it("is the organisation's share of a table with its indexes and partitions", async () => {
  await addJobs(agent, 300);
  await addJobs(other, 100);
  await addDeliveries(agent, 10);
  await addDeliveries(other, 90);
  const { jobs, deliveries } = await storageOf(app.database, agent.id);
  expect(jobs / ((await sizeOf("job")) + (await sizeOf("job_search")))).toBeCloseTo(0.75, 2);
  const both = (await sizeOf("webhook_delivery")) + (await sizeOf("webhook_attempt"));
  expect(deliveries / both).toBeCloseTo(0.1, 2);
});

it("is nothing without rows", async () => {
  const { id } = await app.createOrganization("contractor");
  const { jobs, requestLog } = await storageOf(app.database, id);
  expect({ jobs, requestLog }).toEqual({ jobs: 0, requestLog: 0 });
});

it("is estimated from a sample of a large table", async () => {
  const addEntries = (organization: TestOrganization, count: number) =>
    app.database.query(sql`
      insert into audit_entry (id, action, actor_type, actor, by_operator, organization_id, details)
      select gen_random_uuid(), 'a.b', 'system', 'system', false, ${organization.id}::uuid, jsonb_build_object('text', repeat('x', 1500))
      from generate_series(1, ${count}::int)`);
  for (const _ of Array.from({ length: 3 })) await addEntries(agent, 4_000);
  await addEntries(other, 4_000);
  await app.database.query(sql`analyze audit_entry`);
  const { auditLog } = await storageOf(app.database, agent.id);
  const share = auditLog / (await sizeOf("audit_entry"));
  expect(share).toBeGreaterThan(0.65);
  expect(share).toBeLessThan(0.85);
});
