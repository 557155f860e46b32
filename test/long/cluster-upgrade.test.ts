/**
 * A release that changes the schema: it is migrated first, while the version before goes on, and then that is replaced. There
 * is no release yet whose code could run beside this one. So the same code plays both versions, on a schema that is wider than
 * it knows: what is shown is that code goes on, and starts, on a newer schema, not that two versions get along.
 */
import { expect, it, onTestFinished, vi } from "vitest";
import { raw, sql } from "../../src/platform/postgres/sql.ts";
import { startClusterTraffic } from "../support/processes/cluster-traffic.ts";
import { restartMember, startTestCluster } from "../support/processes/cluster.fixture.ts";
import { verifyDeliveries } from "../support/faults/delivery-checks.ts";
import { openFaultFixture, type FaultFixture } from "../support/faults/webhook.fixture.ts";

vi.setConfig({ testTimeout: 400_000 });

it("columns and indexes added under load: the version before goes on, and comes back on the newer schema", async () => {
  const cluster = await startTestCluster({ RATE_LIMITS: "off" });
  onTestFinished(() => cluster[Symbol.asyncDispose]());
  const world = await openFaultFixture(cluster);
  for (let count = 0; count < 2; count += 1) await world.addEndpoint({ maxInFlight: 8 });
  const numbers = await world.addJobs(20);
  const traffic = startClusterTraffic({ url: cluster.url, key: world.agent.key }, numbers);
  // Often enough for every statement to be prepared on every connection.
  await traffic.waitForMore(60);
  await migrateAsTheNextVersion(world);
  await traffic.waitForMore(30);
  // A version that knows nothing of the last migration, started on its schema: so it is where a release is taken back.
  const [api, worker] = [cluster.apis[0], cluster.workers[0]];
  const codes = [api && (await restartMember(api)), worker && (await restartMember(worker))];
  await traffic.waitForMore(10);
  await traffic.stop();
  expect(codes).toEqual([0, 0]);
  expect(traffic.failures).toEqual([]);
  expect(cluster.balancer.unanswered).toEqual([]);
  expect(await verifyDeliveries(world, { duplicates: 0 })).toMatchObject({ duplicates: 0, mostAttempts: 1 });
});

/** What a migration may do to a table in use (CONTRIBUTING.md): columns that are nullable or have a constant default, an index. */
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
