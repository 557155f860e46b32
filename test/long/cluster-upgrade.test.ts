/**
 * A release that migrates the schema while the previous version runs. There is no released version yet, so the current code
 * runs on an extended schema. This shows that code runs and starts on a newer schema, not that two versions are compatible.
 */
import { expect, it, onTestFinished, vi } from "vitest";
import { raw, sql } from "../../src/core/postgres/sql.ts";
import { startClusterTraffic } from "../support/processes/cluster-traffic.ts";
import { restartMember, startTestCluster } from "../support/processes/cluster.fixture.ts";
import { verifyDeliveries } from "../support/faults/delivery-checks.ts";
import { openFaultFixture, type FaultFixture } from "../support/faults/webhook.fixture.ts";

vi.setConfig({ testTimeout: 400_000 });

it("the previous version keeps running, and can start again, after a migration added columns and indexes", async () => {
  const cluster = await startTestCluster({ RATE_LIMITS: "off" });
  onTestFinished(() => cluster[Symbol.asyncDispose]());
  const fixture = await openFaultFixture(cluster);
  for (let count = 0; count < 2; count += 1) await fixture.addEndpoint({ maxInFlight: 8 });
  const numbers = await fixture.addJobs(20);
  const traffic = startClusterTraffic({ url: cluster.url, key: fixture.agent.key }, numbers);
  // Run enough requests that every statement is prepared on every connection.
  await traffic.waitForMore(60);
  await migrateAsTheNextVersion(fixture);
  await traffic.waitForMore(30);
  // As in a rollback, start a version on a schema whose last migration it does not know.
  const [api, worker] = [cluster.apis[0], cluster.workers[0]];
  const codes = [api && (await restartMember(api)), worker && (await restartMember(worker))];
  await traffic.waitForMore(10);
  await traffic.stop();
  expect(codes).toEqual([0, 0]);
  expect(traffic.failures).toEqual([]);
  expect(cluster.balancer.unanswered).toEqual([]);
  expect(await verifyDeliveries(fixture, { duplicates: 0 })).toMatchObject({ duplicates: 0, maxAttempts: 1 });
});

/** Changes that a migration may make to a table in use (CONTRIBUTING.md): nullable or defaulted columns, and an index. */
async function migrateAsTheNextVersion({ database }: FaultFixture): Promise<void> {
  const tables = await database.query<{ name: string }>(sql`
    select quote_ident(relname) as name from pg_class
    where relkind in ('r', 'p') and not relispartition and relnamespace = 'public'::regnamespace`);
  expect(tables.length).toBeGreaterThan(20);
  for (const { name } of tables) {
    await database.query(
      sql`alter table ${raw(name)} add column next_note text, add column next_count int not null default 0`,
    );
  }
  await database.query(sql`create index concurrently job_next_note on job (next_note)`);
  await database.query(
    sql`insert into mikro_orm_migrations (name) values ('20991231000000-of-the-next-version')`,
  );
}
