/** Restores a dump of pg_dump into another database. */
import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, inject, it, onTestFinished, vi } from "vitest";
import { entities } from "../../../src/app/entities.ts";
import { openDatabase, type Database } from "../../../src/core/postgres/database.ts";
import { ensureDailyPartitions } from "../../../src/request-log/partitions.sql.ts";
import { ensurePartitions } from "../../../src/webhooks/deliveries/weekly-partitions.sql.ts";
import { expectData } from "../../support/app/assertions.ts";
import { createCliRunner } from "../../support/processes/cli-process.ts";
import { waitForFeedEvents } from "../../support/app/feed-client.ts";
import { startAppInstance, type AppInstance } from "../../support/app/app-instance.ts";
import { patchJob } from "../../support/app/job-client.ts";
import { query } from "../../support/processes/embedded-processes.ts";
import { TEST_SECRET } from "../../support/test-secret.ts";
import type { TestOrganization } from "../../support/app/app.fixture.ts";
import { createTestDatabase } from "../../support/database/test-database.ts";
import { eventually } from "../../support/faults/change-load.ts";
import { openFaultFixture, type FaultEndpoint } from "../../support/faults/webhook.fixture.ts";

vi.setConfig({ testTimeout: 180_000 });

const settings = { WEBHOOK_ALLOW_PRIVATE: "on", WEBHOOK_RETRY_SCHEDULE: "0s,2h" };

interface RestoredDatabase {
  url: string;
  database: Database;
}

function sequencesAt(endpoint: FaultEndpoint): number[] {
  return endpoint
    .received()
    .map(({ body }) => (JSON.parse(body) as { data: { sequence: number } }).data.sequence);
}

/** Creates an empty database for the dump. */
async function emptyDatabase(): Promise<RestoredDatabase> {
  const created = await createTestDatabase();
  const database = await openDatabase({ url: created.url, poolSize: 2, entities });
  onTestFinished(async () => {
    await database[Symbol.asyncDispose]();
    await created[Symbol.asyncDispose]();
  });
  await ensurePartitions(database, Date.now(), 30);
  await ensureDailyPartitions(database);
  return { url: created.url, database };
}

async function run(url: string, mongoUrl: string): Promise<AppInstance> {
  const instance = await startAppInstance(url, { ...settings, MONGODB_URL: mongoUrl });
  onTestFinished(() => instance[Symbol.asyncDispose]());
  return instance;
}

const execute = promisify(execFile);

/** Returns why the test must be skipped, or null if pg_dump is installed and not older than the server. */
async function skipReason(): Promise<string | null> {
  const [row] = await query(inject("serverUrl"), "show server_version_num");
  const server = Math.floor(Number(row?.["server_version_num"]) / 10_000);
  const result = await execute("pg_dump", ["--version"]).catch(() => null);
  if (result === null) return "pg_dump is not on the PATH";
  const client = Number(/\) (\d+)/.exec(result.stdout)?.[1]);
  return client >= server ? null : `pg_dump has version ${client}, the server ${server}`;
}

it("recovers from a dump made with pg_dump and restored with pg_restore", async ({ skip }) => {
  const reason = await skipReason();
  // skip() throws.
  if (reason !== null) skip(reason);
  const fixture = await openFaultFixture();
  const agent = {
    ...fixture.agent,
    id: fixture.agent.organizationId,
    name: "agent",
  } satisfies TestOrganization;
  const endpoint = await fixture.addEndpoint();
  const [number = ""] = await fixture.addJobs(1);
  const folder = await mkdtemp(join(tmpdir(), "waymark-dump-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = join(folder, "waymark.dump");
  await execute("pg_dump", ["--format=custom", `--file=${file}`, fixture.databaseUrl]);
  const restored = await emptyDatabase();
  // pg_restore fails if the tables already exist.
  await query(restored.url, "drop schema public cascade; create schema public");
  await execute("pg_restore", ["--exit-on-error", `--dbname=${restored.url}`, file]);

  const { runJson } = createCliRunner(() => ({ DATABASE_URL: restored.url, WAYMARK_SECRET: TEST_SECRET }));
  const report = await runJson("after-restore");
  expect(report).toMatchObject({ deliveries_flagged: 1 });
  const after = await run(restored.url, fixture.mongoUrl);
  expectData(await patchJob(after, agent, number, { weight: 1 }));
  await eventually(() => expect(sequencesAt(endpoint)).toEqual([1, report.min_next_version]));
  expect(await waitForFeedEvents(after, agent, 2)).toHaveLength(2);
});
