/** Restores a dump into another PostgreSQL cluster, with an empty MongoDB, after further changes that are lost. */
import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, inject, it, onTestFinished, vi } from "vitest";
import { feedCursor, readFeedCursor, type FeedPosition } from "../../../src/events/cursors.ts";
import { entities } from "../../../src/app/entities.ts";
import { openDatabase, type Database } from "../../../src/core/postgres/database.ts";
import { sql } from "../../../src/core/postgres/sql.ts";
import { ensureDailyPartitions } from "../../../src/request-log/partitions.sql.ts";
import { systemPrincipal } from "../../../src/webhooks/webhook-principal.ts";
import type { DeliveryView } from "../../../src/webhooks/deliveries/view.ts";
import { ensurePartitions } from "../../../src/webhooks/deliveries/weekly-partitions.sql.ts";
import { expectData, expectFailure } from "../../support/app/assertions.ts";
import { createCliRunner } from "../../support/processes/cli-process.ts";
import { waitForFeedEvents, getFeed } from "../../support/app/feed-client.ts";
import { startAppInstance, type AppInstance } from "../../support/app/app-instance.ts";
import { patchJob } from "../../support/app/job-client.ts";
import { query } from "../../support/processes/embedded-processes.ts";
import { TEST_SECRET } from "../../support/test-secret.ts";
import { startServerProcess } from "../../support/processes/server-process.ts";
import type { TestOrganization } from "../../support/app/app.fixture.ts";
import { createTestDatabase } from "../../support/database/test-database.ts";
import { createTestMongo } from "../../support/database/test-mongo.ts";
import { eventually } from "../../support/eventually.ts";
import {
  openFaultFixture,
  type FaultEndpoint,
  type FaultFixture,
} from "../../support/faults/webhook.fixture.ts";
import pg from "pg";

async function copyDatabase(fromUrl: string, toUrl: string): Promise<void> {
  const [from, to] = [new pg.Client(fromUrl), new pg.Client(toUrl)];
  await Promise.all([from.connect(), to.connect()]);
  try {
    await from.query("begin isolation level repeatable read");
    await to.query("begin; set local session_replication_role = replica");
    const tables = await listTables(from);
    await to.query(`truncate ${tables.map(quoteIdentifier).join(", ")}`);
    for (const table of tables) await copyTable(from, to, quoteIdentifier(table));
    await copyFunctions(from, to);
    await copySequences(from, to);
    await to.query("commit");
  } finally {
    await Promise.all([from.end(), to.end()]);
  }
}

const quoteIdentifier = (name: string): string => `"${name}"`;

async function listTables(client: pg.Client): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(`
    select relname as name from pg_class
    where relkind in ('r', 'p') and not relispartition and relnamespace = 'public'::regnamespace order by relname`);
  return rows.map(({ name }) => name);
}

async function copyTable(from: pg.Client, to: pg.Client, table: string): Promise<void> {
  const { rows } = await from.query<{ rows: string }>(
    `select coalesce(json_agg(row), '[]')::text as rows from ${table} row`,
  );
  await to.query(`insert into ${table} select * from json_populate_recordset(null::${table}, $1)`, [
    rows[0]?.rows,
  ]);
}

async function copyFunctions(from: pg.Client, to: pg.Client): Promise<void> {
  const { rows } = await from.query<{ definition: string }>(
    "select pg_get_functiondef(oid) as definition from pg_proc where pronamespace = 'public'::regnamespace",
  );
  for (const { definition } of rows) await to.query(definition);
}

async function copySequences(from: pg.Client, to: pg.Client): Promise<void> {
  const { rows } = await from.query<{ name: string; last: string | null }>(
    "select sequencename as name, last_value::text as last from pg_sequences where schemaname = 'public'",
  );
  for (const { name, last } of rows) if (last !== null) await to.query("select setval($1, $2)", [name, last]);
}

vi.setConfig({ testTimeout: 180_000 });

/** Simulated difference in transaction IDs between the two clusters, which are the same server in tests. */
const MORE_TRANSACTIONS = 1_000_000_000n;

const settings = { WEBHOOK_ALLOW_PRIVATE: "on", WEBHOOK_RETRY_SCHEDULE: "0s,2h" };

interface RestoredDatabase {
  url: string;
  database: Database;
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

const idsAt = (endpoint: FaultEndpoint): string[] =>
  endpoint.received().map(({ headers }) => String(headers["webhook-id"]));

function sequencesAt(endpoint: FaultEndpoint): number[] {
  return endpoint
    .received()
    .map(({ body }) => (JSON.parse(body) as { data: { sequence: number } }).data.sequence);
}

/** Makes all retries due now. */
async function makeRetriesDue(database: Database): Promise<void> {
  await database.query(sql`
    update webhook_delivery set due_at = clock_timestamp() where status = 'pending' and attempts > 0`);
}

/** Waits until `count` deliveries are pending after one attempt. */
async function waitForPending({ database }: Pick<FaultFixture, "database">, count: number): Promise<void> {
  await eventually(async () =>
    expect(
      await database.query(sql`
        select from webhook_delivery where status = 'pending' and attempts = 1 and lease_token is null`),
    ).toHaveLength(count),
  );
}

async function listPending({ webhooks }: AppInstance, { typedId }: FaultEndpoint): Promise<DeliveryView[]> {
  const filter = { endpointId: typedId, status: "pending" } as const;
  return (await webhooks.deliveries.list(systemPrincipal, { filter, limit: 10 })).items;
}

it("flags repeated deliveries, keeps the restored data, and reuses no version after a dump was restored", async () => {
  const fixture = await openFaultFixture();
  const agent = {
    ...fixture.agent,
    id: fixture.agent.organizationId,
    name: "agent",
  } satisfies TestOrganization;
  const healthy = await fixture.addEndpoint();
  const failing = await fixture.addEndpoint({ respond: () => ({ status: 500 }) });
  const [number = "", other = ""] = await fixture.addJobs(2);
  const before = await run(fixture.databaseUrl, fixture.mongoUrl);
  await eventually(() => expect(healthy.received()).toHaveLength(2));
  await waitForPending(fixture, 2);

  const restored = await emptyDatabase();
  await copyDatabase(fixture.databaseUrl, restored.url);
  await restored.database.query(sql`
    update job_event set transaction_id = (transaction_id::text::bigint + ${MORE_TRANSACTIONS.toString()}::bigint)::text::xid8`);

  // These changes come after the dump and are lost.
  failing.respond = () => ({});
  for (const { id } of await listPending(before, failing))
    await before.webhooks.deliveries.replay(systemPrincipal, id);
  const lost = expectData(await patchJob(before, agent, number, { weight: 1 }));
  await eventually(() => expect(healthy.received()).toHaveLength(3));
  await eventually(() => expect(new Set(idsAt(failing)).size).toBe(3));
  await eventually(() => expect(failing.received()).toHaveLength(5));
  expect(lost.weight).toBe(1);
  await waitForFeedEvents(before, agent, 3);
  const cursor = expectData(await getFeed(before, agent)).next_cursor as string;
  await before[Symbol.asyncDispose]();

  // A server refuses to start on the restored database.
  const mongo = createTestMongo();
  onTestFinished(() => mongo[Symbol.asyncDispose]());
  const refused = await startServerProcess({ DATABASE_URL: restored.url });
  expect(await refused.exited).toBe(1);
  expect(refused.output()).toContain("restored from a backup, or copied");
  expect(refused.output()).toContain(": waymark after-restore");
  const { runJson } = createCliRunner(() => ({ DATABASE_URL: restored.url, WAYMARK_SECRET: TEST_SECRET }));
  const report = await runJson("after-restore");
  expect(report).toMatchObject({ deliveries_flagged: 2, sessions_ended: 0 });

  const after = await run(restored.url, mongo.url);
  await makeRetriesDue(restored.database);
  // The failing endpoint gets its pending deliveries again, flagged. The healthy one gets nothing again.
  await eventually(() => expect(failing.received()).toHaveLength(7));
  const [first, second] = failing.received().slice(5);
  expect([first, second].map((request) => request?.headers["webhook-redelivery"])).toEqual([
    "restore",
    "restore",
  ]);
  expect(new Set(idsAt(failing).slice(5))).toEqual(new Set(idsAt(healthy).slice(0, 2)));

  // The lost version 2 does not match, and the next change skips past it.
  const stale = { ...agent, headers: { "if-match": '"2"' } };
  expectFailure(await patchJob(after, stale, number, { weight: 2 }), 412);
  expectData(await patchJob(after, agent, number, { weight: 3 }));
  expectData(await patchJob(after, agent, other, { weight: 4 }));
  await eventually(() => expect(healthy.received()).toHaveLength(5));
  expect(sequencesAt(healthy)).toEqual([1, 1, 2, report.min_next_version, report.min_next_version]);
  expect(new Set(idsAt(healthy)).size).toBe(5);
  expect(healthy.received().map(({ headers }) => headers["webhook-redelivery"])).toEqual(
    Array(5).fill(undefined),
  );

  // Polling continues from the last cursor.
  const { transaction_id, position } = readFeedCursor(cursor) as FeedPosition;
  const sameCursor = feedCursor({
    transaction_id: String(BigInt(transaction_id) + MORE_TRANSACTIONS),
    position,
  });
  const newEvents = await waitForFeedEvents(after, agent, 2, `after=${sameCursor}`);
  expect(newEvents.map(({ data }) => data.job.marking_number)).toEqual([number, other]);
  expect(await waitForFeedEvents(after, agent, 4)).toHaveLength(4);
  await eventually(async () =>
    expect(
      await restored.database.query(sql`select from webhook_delivery where status <> 'delivered'`),
    ).toEqual([]),
  );
});

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
