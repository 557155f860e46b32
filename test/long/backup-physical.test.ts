/** Restores PostgreSQL from a base backup and archived WAL, while MongoDB keeps newer data. */
import { chown, copyFile, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { MongoClient } from "mongodb";
import { expect, it, onTestFinished } from "vitest";
import { prepareCluster, type Cluster } from "../../src/dev/postgres/cluster.ts";
import { openEmbeddedPostgres, type EmbeddedPostgres } from "../../src/dev/postgres/embedded-postgres.ts";
import { entities } from "../../src/app/entities.ts";
import { openDatabase, type Database } from "../../src/core/postgres/database.ts";
import { sql } from "../../src/core/postgres/sql.ts";
import { TASKS_COLLECTION } from "../../src/scheduling/task.ts";
import { takeBaseBackup } from "../support/database/base-backup.ts";
import { stopAndRemoveAll, makeFolder, query } from "../support/processes/embedded-processes.ts";
import { createApiClient } from "../support/app/app-instance.ts";
import { expectData } from "../support/app/assertions.ts";
import { getFeed, waitForFeedEvents } from "../support/app/feed-client.ts";
import { eventually } from "../support/eventually.ts";
import {
  idsAt,
  openFaultFixture,
  patchWeight,
  sequencesAt,
  type FaultEndpoint,
  type FaultFixture,
} from "../support/faults/webhook.fixture.ts";

const flagsOf = (settings: readonly string[]): string[] => settings.flatMap((setting) => ["-c", setting]);

interface Primary {
  fixture: FaultFixture;
  cluster: Cluster;
  /** Folder with the archived WAL. */
  archive: string;
  postgres: EmbeddedPostgres;
}

async function openPrimary(): Promise<Primary> {
  onTestFinished(stopAndRemoveAll);
  const dataDir = await makeFolder();
  const archive = join(dataDir, "archive");
  await mkdir(archive);
  const settings = ["wal_level=replica", "archive_mode=on", `archive_command=cp %p ${archive}/%f`];
  const postgresFlags = flagsOf(settings);
  const postgres = await openEmbeddedPostgres({ dataDir, exclusive: true, postgresFlags });
  onTestFinished(() => postgres[Symbol.asyncDispose]());
  const cluster = await prepareCluster(dataDir, () => undefined);
  const { account } = cluster;
  if (account) await chown(archive, account.uid, account.gid);
  const fixture = await openFaultFixture({ databaseUrl: postgres.url, schedule: "0s,6s,6s,6s,6s" });
  return { fixture, cluster, archive, postgres };
}

/** Resolves once all WAL up to now is archived. */
async function archiveAll({ fixture: { database } }: Primary): Promise<void> {
  const [row] = await database.query<{ name: string }>(sql`select pg_walfile_name(pg_switch_wal()) as name`);
  await eventually(async () => {
    const [archiver] = await database.query<{ last: string | null }>(
      sql`select last_archived_wal as last from pg_stat_archiver`,
    );
    expect((archiver?.last ?? "") >= (row?.name ?? "none")).toBe(true);
  });
}

/** Returns a data folder with a base backup, ready to start. */
async function takeBackup({ cluster, fixture }: Primary): Promise<string> {
  const dataDir = await makeFolder();
  await copyFile(join(cluster.dataDir, "postgres-password"), join(dataDir, "postgres-password"));
  const backup = { cluster, url: fixture.databaseUrl, folder: join(dataDir, "postgres") };
  await takeBaseBackup(backup, "recovery.signal");
  return dataDir;
}

async function restore(
  { archive }: Primary,
  dataDir: string,
  until: readonly string[] = [],
): Promise<{ url: string; database: Database }> {
  const settings = [`restore_command=cp ${archive}/%f %p`, ...until];
  const postgresFlags = flagsOf(settings);
  const postgres = await openEmbeddedPostgres({ dataDir, exclusive: true, postgresFlags });
  const database = await openDatabase({ url: postgres.url, poolSize: 2, entities });
  onTestFinished(async () => {
    await database[Symbol.asyncDispose]();
    await postgres[Symbol.asyncDispose]();
  });
  return { url: postgres.url, database };
}

const marksAt = (endpoint: FaultEndpoint): unknown[] =>
  endpoint.received().map(({ headers }) => headers["webhook-redelivery"]);

async function waitForFirstFailures(database: Database, count: number): Promise<void> {
  await eventually(async () =>
    expect(
      await database.query(sql`
        select from webhook_delivery where status = 'pending' and attempts > 0 and outcome = 'http_500'`),
    ).toHaveLength(count),
  );
}

it("point-in-time restore: flags repeated deliveries, and reuses no version", async () => {
  const primary = await openPrimary();
  const { fixture, postgres } = primary;
  const calm = await fixture.addEndpoint();
  const ailing = await fixture.addEndpoint({ respond: () => ({ status: 500 }) });
  const numbers = await fixture.addJobs(2);
  const [number = ""] = numbers;
  const before = await fixture.startServer("all");
  const dataDir = await takeBackup(primary);
  await fixture.updateJob(number, 1);
  await eventually(() => expect(calm.received()).toHaveLength(3));
  await waitForFirstFailures(fixture.database, 3);
  await query(postgres.url, "select pg_create_restore_point('that_moment')");

  // These changes are lost in PostgreSQL, but MongoDB keeps their tasks.
  const late = await fixture.addEndpoint({ respond: () => ({ status: 500 }) });
  ailing.respond = () => ({});
  await eventually(async () =>
    expect(
      await fixture.database.query(sql`
        select from webhook_delivery where status = 'pending' and endpoint_id = ${ailing.id}`),
    ).toEqual([]),
  );
  for (const weight of [2, 3]) expect(await patchWeight(before, fixture.agent, number, weight)).toBe(true);
  await eventually(() => expect(calm.received()).toHaveLength(5));
  await eventually(() => expect(late.received().length).toBeGreaterThanOrEqual(2));
  await eventually(() => expect(new Set(idsAt(ailing)).size).toBe(5));
  const { agent } = fixture;
  await waitForFeedEvents(createApiClient(before.url), agent, 5);
  const { next_cursor: cursor } = expectData(await getFeed(createApiClient(before.url), agent));
  const sentBefore = { calm: calm.received().length, ailing: ailing.received().length };
  await archiveAll(primary);
  await before.kill("SIGKILL");
  await using client = new MongoClient(fixture.mongoUrl);
  const wakeUps = client.db().collection(TASKS_COLLECTION);
  expect(await wakeUps.countDocuments({ name: "webhooks.retry" })).toBeGreaterThan(0);
  const sentToLate = late.received().length;

  const restored = await restore(primary, dataDir, [
    "recovery_target_name=that_moment",
    "recovery_target_action=promote",
  ]);
  const after = await fixture.startServer("all", { DATABASE_URL: restored.url });
  expect(after.output()).toContain("a new timeline");
  // Only this endpoint gets it again, flagged.
  await eventually(() => expect(ailing.received()).toHaveLength(sentBefore.ailing + 3));
  expect(marksAt(ailing).slice(-3)).toEqual(["restore", "restore", "restore"]);
  expect(new Set(idsAt(ailing).slice(-3))).toEqual(new Set(idsAt(calm).slice(0, 3)));

  const highest = Math.max(...sequencesAt(calm));
  expect(await patchWeight(after, fixture.agent, number, 4)).toBe(true);
  await eventually(() => expect(calm.received()).toHaveLength(sentBefore.calm + 1));
  expect(sequencesAt(calm).at(-1)).toBeGreaterThan(highest);
  expect(new Set(idsAt(calm)).size).toBe(sentBefore.calm + 1);
  expect(marksAt(calm).filter(Boolean)).toEqual([]);
  const [event] = await waitForFeedEvents(createApiClient(after.url), agent, 1, `after=${cursor}`);
  expect(event?.data.sequence).toBe(sequencesAt(calm).at(-1));
  await waitForFeedEvents(createApiClient(after.url), agent, 4);

  // The wake-up tasks of lost deliveries have run without effect.
  await eventually(async () => expect(await wakeUps.countDocuments({ name: "webhooks.retry" })).toBe(0));
  expect(late.received()).toHaveLength(sentToLate);
  // A result is recorded after its response.
  const undelivered = sql`select from webhook_delivery where status <> 'delivered'`;
  await eventually(async () => expect(await restored.database.query(undelivered)).toEqual([]));
});
