/** Restores a dump as another database, with an empty MongoDB, after further changes that are lost. */
import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, inject, it, onTestFinished, vi } from "vitest";
import { sql } from "../../../src/core/postgres/sql.ts";
import { expectData } from "../../support/app/assertions.ts";
import { createCliRunner } from "../../support/processes/cli-process.ts";
import { waitForFeedEvents, getFeed } from "../../support/app/feed-client.ts";
import { startAppInstance, type AppInstance } from "../../support/app/app-instance.ts";
import { patchJob } from "../../support/app/job-client.ts";
import { query } from "../../support/processes/embedded-processes.ts";
import { TEST_SECRET } from "../../support/test-secret.ts";
import { startServerProcess } from "../../support/processes/server-process.ts";
import { createTestDatabase } from "../../support/database/test-database.ts";
import { runStartupCheck } from "../../support/database/startup-check.ts";
import { createTestMongo } from "../../support/database/test-mongo.ts";
import { eventually } from "../../support/eventually.ts";
import { idsAt, openFaultFixture, sequencesAt } from "../../support/faults/webhook.fixture.ts";

vi.setConfig({ testTimeout: 180_000 });

const execute = promisify(execFile);

/** True if pg_dump is installed and not older than the server. */
async function canDump(): Promise<boolean> {
  const [row] = await query(inject("serverUrl"), "show server_version_num");
  const { stdout } = await execute("pg_dump", ["--version"]).catch(() => ({ stdout: "" }));
  return (
    Number(/\) (\d+)/.exec(stdout)?.[1] ?? 0) >= Math.floor(Number(row?.["server_version_num"]) / 10_000)
  );
}

/** Dumps the database, and returns the URL of a database with its content. Ends the sessions of the copied one. */
async function dumpAndRestore(url: string): Promise<string> {
  const name = new URL(url).pathname.slice(1);
  if (!(await canDump())) {
    await endSessions(name);
    return await createDatabase(name);
  }
  const folder = await mkdtemp(join(tmpdir(), "waymark-dump-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = join(folder, "waymark.dump");
  await execute("pg_dump", ["--format=custom", `--file=${file}`, url]);
  const restored = await createDatabase("template0");
  await execute("pg_restore", ["--exit-on-error", `--dbname=${restored}`, file]);
  return restored;
}

async function endSessions(name: string): Promise<void> {
  const sessions = `from pg_stat_activity where datname = '${name}'`;
  await query(inject("serverUrl"), `select pg_terminate_backend(pid) ${sessions}`);
  await eventually(async () => expect(await query(inject("serverUrl"), `select ${sessions}`)).toEqual([]));
}

async function createDatabase(template: string): Promise<string> {
  const created = await createTestDatabase(template);
  onTestFinished(() => created[Symbol.asyncDispose]());
  return created.url;
}

async function run(url: string, mongoUrl: string): Promise<AppInstance> {
  const settings = { WEBHOOK_ALLOW_PRIVATE: "on", WEBHOOK_RETRY_SCHEDULE: "0s,2h", MONGODB_URL: mongoUrl };
  const instance = await startAppInstance(url, settings);
  onTestFinished(() => instance[Symbol.asyncDispose]());
  return instance;
}

it("flags repeated deliveries, keeps the restored data, and reuses no version after a dump was restored", async () => {
  const fixture = await openFaultFixture();
  const { agent } = fixture;
  const healthy = await fixture.addEndpoint();
  const failing = await fixture.addEndpoint({ respond: () => ({ status: 500 }) });
  const [number = "", other = ""] = await fixture.addJobs(2);
  await runStartupCheck(fixture.databaseUrl);
  const first = await run(fixture.databaseUrl, fixture.mongoUrl);
  await eventually(() => expect(healthy.received()).toHaveLength(2));
  await eventually(async () =>
    expect(
      await fixture.database.query(sql`
        select from webhook_delivery where status = 'pending' and attempts = 1 and lease_token is null`),
    ).toHaveLength(2),
  );
  await first[Symbol.asyncDispose]();
  const restoredUrl = await dumpAndRestore(fixture.databaseUrl);

  // These changes come after the dump and are lost.
  failing.respond = () => ({});
  const before = await run(fixture.databaseUrl, fixture.mongoUrl);
  await makeRetriesDue(fixture.databaseUrl);
  expectData(await patchJob(before, agent, number, { weight: 1 }));
  await eventually(() => expect(healthy.received()).toHaveLength(3));
  await eventually(() => expect(failing.received()).toHaveLength(5));
  await waitForFeedEvents(before, agent, 3);
  const cursor = expectData(await getFeed(before, agent)).next_cursor as string;
  await before[Symbol.asyncDispose]();

  // A server refuses to start on the restored database.
  const refused = await startServerProcess({ DATABASE_URL: restoredUrl });
  expect(await refused.exited).toBe(1);
  expect(refused.output()).toContain("restored from a backup, or copied");
  expect(refused.output()).toContain(": waymark after-restore");
  const { runJson } = createCliRunner(() => ({ DATABASE_URL: restoredUrl, WAYMARK_SECRET: TEST_SECRET }));
  const report = await runJson("after-restore");
  expect(report).toMatchObject({ deliveries_flagged: 2, sessions_ended: 0 });

  const mongo = createTestMongo();
  onTestFinished(() => mongo[Symbol.asyncDispose]());
  const after = await run(restoredUrl, mongo.url);
  await makeRetriesDue(restoredUrl);
  // The failing endpoint gets its pending deliveries again, flagged. The healthy one gets nothing again.
  await eventually(() => expect(failing.received()).toHaveLength(7));
  const flags = failing.received().map(({ headers }) => headers["webhook-redelivery"]);
  expect(flags.slice(5)).toEqual(["restore", "restore"]);
  expect(new Set(idsAt(failing).slice(5))).toEqual(new Set(idsAt(healthy).slice(0, 2)));

  // The next change skips past the lost version 2, and polling continues from the last cursor.
  expectData(await patchJob(after, agent, number, { weight: 3 }));
  expectData(await patchJob(after, agent, other, { weight: 4 }));
  await eventually(() => expect(healthy.received()).toHaveLength(5));
  expect(sequencesAt(healthy)).toEqual([1, 1, 2, report.min_next_version, report.min_next_version]);
  expect(new Set(idsAt(healthy)).size).toBe(5);
  const newEvents = await waitForFeedEvents(after, agent, 2, `after=${cursor}`);
  expect(newEvents.map(({ data }) => data.job.marking_number)).toEqual([number, other]);
  expect(await waitForFeedEvents(after, agent, 4)).toHaveLength(4);
  await eventually(async () =>
    expect(await query(restoredUrl, "select from webhook_delivery where status <> 'delivered'")).toEqual([]),
  );
});

async function makeRetriesDue(url: string): Promise<void> {
  await query(
    url,
    "update webhook_delivery set due_at = clock_timestamp() where status = 'pending' and attempts > 0",
  );
}
