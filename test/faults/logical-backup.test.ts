/** A dump is restored into another PostgreSQL, with a MongoDB from nothing, after life went on for a while. */
import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, inject, it, onTestFinished, vi } from "vitest";
import { feedCursorAt, readFeedCursor } from "../../src/events/event.cursor.ts";
import { entities } from "../../src/app/entities.ts";
import type { FeedPosition } from "../../src/events/event.service.ts";
import { openDatabase, type Database } from "../../src/platform/postgres/database.ts";
import { sql } from "../../src/platform/postgres/sql.ts";
import { ensureDailyPartitions } from "../../src/request-log/request-log.partitions.ts";
import { systemPrincipal } from "../../src/webhooks/tenant-scope.ts";
import type { DeliveryView } from "../../src/webhooks/deliveries/view.ts";
import { ensurePartitions } from "../../src/webhooks/deliveries/partitions.ts";
import { expectData, expectFailure } from "../support/app/assertions.ts";
import { createCliRunner } from "../support/processes/cli-process.ts";
import { waitForFeedEvents, getFeed } from "../support/app/feed-client.ts";
import { startAppInstance, type AppInstance } from "../support/app/app-instance.ts";
import { patchJob } from "../support/app/job-client.ts";
import { query } from "../support/processes/embedded-processes.ts";
import { copyDatabase } from "../support/database/logical-copy.ts";
import { TEST_SECRET } from "../support/test-secret.ts";
import { startServerProcess } from "../support/processes/server-process.ts";
import type { TestOrganization } from "../support/app/app.fixture.ts";
import { createTestDatabase } from "../support/database/test-database.ts";
import { createTestMongo } from "../support/database/test-mongo.ts";
import { eventually } from "../support/faults/change-load.ts";
import {
  openFaultFixture,
  type FaultEndpoint,
  type FaultFixture,
} from "../support/faults/webhook.fixture.ts";

vi.setConfig({ testTimeout: 180_000 });

/** How many transactions the first PostgreSQL had more than the second: tests have the same for both. */
const MORE_TRANSACTIONS = 1_000_000_000n;

const settings = { WEBHOOK_ALLOW_PRIVATE: "on", WEBHOOK_RETRY_SCHEDULE: "0s,2h" };

interface Restored {
  url: string;
  database: Database;
}

/** Another database without anything, into which the dump is to go. */
async function emptyDatabase(): Promise<Restored> {
  const made = await createTestDatabase();
  const database = await openDatabase({ url: made.url, poolSize: 2, entities });
  onTestFinished(async () => {
    await database[Symbol.asyncDispose]();
    await made[Symbol.asyncDispose]();
  });
  await ensurePartitions(database, Date.now(), 30);
  await ensureDailyPartitions(database, Date.now());
  return { url: made.url, database };
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

/** As if the wait for the next attempt were over. */
async function hurry(database: Database): Promise<void> {
  await database.query(sql`
    update webhook_delivery set due_at = clock_timestamp() where status = 'pending' and attempts > 0`);
}

/** What waits after a first attempt, or was never sent. */
async function untilWaiting({ database }: Pick<FaultFixture, "database">, count: number): Promise<void> {
  await eventually(async () =>
    expect(
      await database.query(sql`
        select from webhook_delivery where status = 'pending' and attempts = 1 and lease_token is null`),
    ).toHaveLength(count),
  );
}

async function held({ webhooks }: AppInstance, { typedId }: FaultEndpoint): Promise<DeliveryView[]> {
  const filter = { endpointId: typedId, status: "pending" } as const;
  return (await webhooks.deliveries.list(systemPrincipal, { filter, limit: 10 })).items;
}

it("nothing is sent twice without a mark, nothing that is kept is lost, and no number is given twice", async () => {
  const world = await openFaultFixture();
  const agent = { ...world.agent, id: world.agent.organizationId, name: "agent" } satisfies TestOrganization;
  const calm = await world.addEndpoint();
  const ailing = await world.addEndpoint({ respond: () => ({ status: 500 }) });
  const [number = "", other = ""] = await world.addJobs(2);
  const before = await run(world.databaseUrl, world.mongoUrl);
  await eventually(() => expect(calm.received()).toHaveLength(2));
  await untilWaiting(world, 2);

  const restored = await emptyDatabase();
  await copyDatabase(world.databaseUrl, restored.url);
  await restored.database.query(sql`
    update job_event set transaction_id = (transaction_id::text::bigint + ${MORE_TRANSACTIONS.toString()}::bigint)::text::xid8`);

  // Life goes on, and all of it is lost.
  ailing.respond = () => ({});
  for (const { id } of await held(before, ailing))
    await before.webhooks.deliveries.replay(systemPrincipal, id);
  const lost = expectData(await patchJob(before, agent, number, { weight: 1 }));
  await eventually(() => expect(calm.received()).toHaveLength(3));
  await eventually(() => expect(new Set(idsAt(ailing)).size).toBe(3));
  await eventually(() => expect(ailing.received()).toHaveLength(5));
  expect(lost.weight).toBe(1);
  await waitForFeedEvents(before, agent, 3);
  const cursor = expectData(await getFeed(before, agent)).next_cursor as string;
  await before[Symbol.asyncDispose]();

  // A server does not start on it.
  const mongo = createTestMongo();
  onTestFinished(() => mongo[Symbol.asyncDispose]());
  const unaware = await startServerProcess({ DATABASE_URL: restored.url });
  expect(await unaware.exited).toBe(1);
  expect(unaware.output()).toContain("restored from a backup, or copied");
  expect(unaware.output()).toContain("npx waymark after-restore");
  const { runJson } = createCliRunner(() => ({ DATABASE_URL: restored.url, WAYMARK_SECRET: TEST_SECRET }));
  const told = await runJson("after-restore");
  expect(told).toMatchObject({ deliveries_flagged: 2, sessions_ended: 0 });

  const after = await run(restored.url, mongo.url);
  await hurry(restored.database);
  // What ailing had in the lost time, it gets again, with the mark. Calm gets nothing again.
  await eventually(() => expect(ailing.received()).toHaveLength(7));
  const [first, second] = ailing.received().slice(5);
  expect([first, second].map((request) => request?.headers["webhook-redelivery"])).toEqual([
    "restore",
    "restore",
  ]);
  expect(new Set(idsAt(ailing).slice(5))).toEqual(new Set(idsAt(calm).slice(0, 2)));

  // The lost version is no version, and the next one passes it.
  const stale = { ...agent, headers: { "if-match": '"2"' } };
  expectFailure(await patchJob(after, stale, number, { weight: 2 }), 412);
  expectData(await patchJob(after, agent, number, { weight: 3 }));
  expectData(await patchJob(after, agent, other, { weight: 4 }));
  await eventually(() => expect(calm.received()).toHaveLength(5));
  expect(sequencesAt(calm)).toEqual([1, 1, 2, told.min_next_version, told.min_next_version]);
  expect(new Set(idsAt(calm)).size).toBe(5);
  expect(calm.received().map(({ headers }) => headers["webhook-redelivery"])).toEqual(
    Array(5).fill(undefined),
  );

  // Whoever polls goes on from where they were.
  const { transactionId, position } = readFeedCursor(cursor) as FeedPosition;
  const kept = feedCursorAt({ transactionId: String(BigInt(transactionId) + MORE_TRANSACTIONS), position });
  const news = await waitForFeedEvents(after, agent, 2, `after=${kept}`);
  expect(news.map(({ data }) => data.job.marking_number)).toEqual([number, other]);
  expect(await waitForFeedEvents(after, agent, 4)).toHaveLength(4);
  await eventually(async () =>
    expect(
      await restored.database.query(sql`select from webhook_delivery where status <> 'delivered'`),
    ).toEqual([]),
  );
});

const execute = promisify(execFile);

/** Null: it is there and no older than the server, which it would refuse. Otherwise why the test is left out. */
async function whyNoDump(): Promise<string | null> {
  const [row] = await query(inject("serverUrl"), "show server_version_num");
  const server = Math.floor(Number(row?.["server_version_num"]) / 10_000);
  const told = await execute("pg_dump", ["--version"]).catch(() => null);
  if (told === null) return "there is no pg_dump on the PATH";
  const own = Number(/\) (\d+)/.exec(told.stdout)?.[1]);
  return own >= server ? null : `pg_dump is of PostgreSQL ${own}, the server is ${server}`;
}

it("the same holds of what pg_dump wrote and pg_restore read", async ({ skip }) => {
  const reason = await whyNoDump();
  // It throws.
  if (reason !== null) skip(reason);
  const world = await openFaultFixture();
  const agent = { ...world.agent, id: world.agent.organizationId, name: "agent" } satisfies TestOrganization;
  const endpoint = await world.addEndpoint();
  const [number = ""] = await world.addJobs(1);
  const folder = await mkdtemp(join(tmpdir(), "waymark-dump-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = join(folder, "waymark.dump");
  await execute("pg_dump", ["--format=custom", `--file=${file}`, world.databaseUrl]);
  const restored = await emptyDatabase();
  // Really empty: what is there already is in the way.
  await query(restored.url, "drop schema public cascade; create schema public");
  await execute("pg_restore", ["--exit-on-error", `--dbname=${restored.url}`, file]);

  const { runJson } = createCliRunner(() => ({ DATABASE_URL: restored.url, WAYMARK_SECRET: TEST_SECRET }));
  const told = await runJson("after-restore");
  expect(told).toMatchObject({ deliveries_flagged: 1 });
  const after = await run(restored.url, world.mongoUrl);
  expectData(await patchJob(after, agent, number, { weight: 1 }));
  await eventually(() => expect(sequencesAt(endpoint)).toEqual([1, told.min_next_version]));
  expect(await waitForFeedEvents(after, agent, 2)).toHaveLength(2);
});
