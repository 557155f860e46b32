/** After a restore: no number is given twice, what may have been sent before is marked, and nobody starts on it unawares. */
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { entities } from "../../src/app/entities.ts";
import { feedCursorAt, readFeedCursor } from "../../src/events/event.cursor.ts";
import type { FeedPosition } from "../../src/events/event.service.ts";
import { StartupError } from "../../src/platform/errors.ts";
import { newUuid } from "../../src/platform/ids.ts";
import { migrateDatabase } from "../../src/platform/postgres/migrate.ts";
import { createSecretBox, type SecretBox } from "../../src/platform/secret-box.ts";
import { raw, sql } from "../../src/platform/postgres/sql.ts";
import { createStartupCheck } from "../../src/restore/startup-checks.ts";
import { finishRestore, type RecoveryResult, type RestoreResult } from "../../src/restore/restore.service.ts";
import { acceptSecret } from "../../src/restore/secret-check.service.ts";
import { createTestUser, signIn } from "../support/accounts/session-client.ts";
import { expectData, expectFailure } from "../support/app/assertions.ts";
import { listFeedEvents, waitForFeedEvents, getFeed } from "../support/app/feed-client.ts";
import { getJob, patchJob } from "../support/app/job-client.ts";
import { testSecretBox } from "../support/test-secret.ts";
import type { TestOrganization, TestApp } from "../support/app/app.fixture.ts";
import { startTestReceiver } from "../support/webhooks/receiver.ts";
import { startDispatcherFixture, type DispatcherFixture } from "../support/webhooks/dispatcher.fixture.ts";

let rig: DispatcherFixture;
let app: TestApp;
beforeAll(async () => {
  rig = await startDispatcherFixture();
  ({ app } = rig);
});
afterAll(() => rig[Symbol.asyncDispose]());

/** Versions begin above it: no job is changed once a second all the time. */
const secondsSince2026 = (): number => Math.floor((Date.now() - Date.UTC(2026)) / 1000);

async function versionOf(agent: TestOrganization, markingNumber: string): Promise<number> {
  return Number((await getJob(app, agent, markingNumber)).headers.get("etag")?.slice(1, -1));
}

const conclude = (): Promise<RestoreResult> => finishRestore(app.database);

describe("the versions of jobs", () => {
  it("stay as they are until a job changes, and then pass all that there ever were", async () => {
    const agent = await app.createOrganization("agent");
    const [number = ""] = await app.createJobs(agent, [{}]);
    expectData(await patchJob(app, agent, number, { weight: 1 }));
    const before = secondsSince2026();
    const { minNextVersion } = await conclude();

    expect(minNextVersion).toBeGreaterThan(before);
    expect(await versionOf(agent, number)).toBe(2);
    // It has what that version says, so whoever holds it may go by it.
    const headers = { "if-match": '"2"' };
    const changed = await patchJob(app, { ...agent, headers }, number, { weight: 2 });
    expectData(changed);
    expect(changed.headers.get("etag")).toBe(`"${minNextVersion}"`);
    expectData(await patchJob(app, agent, number, { weight: 3 }));
    expect(await versionOf(agent, number)).toBe(minNextVersion + 1);
    // The version that was given next, in the time that is lost.
    const stale = { ...agent, headers: { "if-match": '"3"' } };
    expectFailure(await patchJob(app, stale, number, { weight: 4 }), 412);
    const events = await waitForFeedEvents(app, agent, 4);
    expect(events.map(({ data }) => data.sequence)).toEqual([1, 2, minNextVersion, minNextVersion + 1]);
  });

  it("of new jobs begin there, too: their Marking Numbers may have been used in the time that is lost", async () => {
    const { minNextVersion } = await conclude();
    const agent = await app.createOrganization("agent");
    const contractor = await app.createOrganization("contractor");
    const [number = ""] = await app.createJobs(agent, [{ contractor }]);
    expect(await versionOf(agent, number)).toBe(minNextVersion + 1);
  });
});

/** As it was given for an event that is lost: so many transactions later. */
function cursorLater(cursor: string, transactions: number): string {
  const { transactionId, position } = readFeedCursor(cursor) as FeedPosition;
  return feedCursorAt({ transactionId: String(BigInt(transactionId) + BigInt(transactions)), position });
}

describe("the feed", () => {
  it("shows what happens from now on to whoever holds a cursor of the time that is lost", async () => {
    const agent = await app.createOrganization("agent");
    const [number = ""] = await app.createJobs(agent, [{}]);
    await waitForFeedEvents(app, agent, 1);
    const { next_cursor: cursor } = expectData(await getFeed(app, agent));
    const lost = cursorLater(cursor, 100_000);
    await conclude();
    expect(await listFeedEvents(app, agent, `after=${cursor}`)).toEqual([]);

    expectData(await patchJob(app, agent, number, { weight: 1 }));
    const [shown] = await waitForFeedEvents(app, agent, 1, `after=${lost}`);
    expect(await listFeedEvents(app, agent, `after=${cursor}`)).toEqual([shown]);
    expect(await listFeedEvents(app, agent)).toHaveLength(2);
  });

  it("shows what came from a cluster that had more transactions, and what happens from now on after it", async () => {
    const agent = await app.createOrganization("agent");
    const [number = ""] = await app.createJobs(agent, [{}]);
    await app.database.query(sql`
      update job_event set transaction_id = (transaction_id::text::bigint + 1000000000)::text::xid8
      where agent_id = ${agent.id}`);
    // So it is before: nothing of it is shown, and the server would not have started.
    expect(await listFeedEvents(app, agent)).toEqual([]);
    await expect(admit()).rejects.toThrow("restored from a backup, or copied");

    await conclude();
    const [old] = await waitForFeedEvents(app, agent, 1);
    const { next_cursor: cursor } = expectData(await getFeed(app, agent));
    expectData(await patchJob(app, agent, number, { weight: 1 }));
    const [recent] = await waitForFeedEvents(app, agent, 1, `after=${cursor}`);
    expect((await listFeedEvents(app, agent)).map(({ id }) => id)).toEqual([old?.id, recent?.id]);
    await expect(admit()).resolves.toEqual([]);
  });

  it("goes on however often it is moved", async () => {
    const agent = await app.createOrganization("agent");
    const [number = ""] = await app.createJobs(agent, [{}]);
    for (let weight = 1; weight <= 3; weight += 1) {
      await conclude();
      expectData(await patchJob(app, agent, number, { weight }));
    }
    const sequences = (await waitForFeedEvents(app, agent, 4)).map(({ data }) => data.sequence);
    expect(sequences).toEqual(sequences.toSorted((a, b) => a - b));
    expect(new Set(sequences).size).toBe(4);
  });

  it("lets a change finish whose event is written already, and shows it in its place", async () => {
    const agent = await app.createOrganization("agent");
    const [number = "", other = ""] = await app.createJobs(agent, [{}, {}]);
    await waitForFeedEvents(app, agent, 2);
    let concluded: Promise<unknown> = Promise.resolve();
    await app.database.transaction(async (tx) => {
      await tx.query(sql`
        insert into job_event (id, type, job_id, agent_id, sequence, actor_type, changes, job)
        select ${newUuid()}::uuid, 'job.updated', id, agent_id, 2, 'system', '{}', to_jsonb(job) from job
        where marking_number = ${number}`);
      concluded = conclude();
      await waitingForTheLock();
    });
    await concluded;
    expectData(await patchJob(app, agent, other, { weight: 1 }));
    const events = await waitForFeedEvents(app, agent, 4);
    expect(events.slice(2).map(({ data }) => data.job.marking_number)).toEqual([number, other]);
  });
});

/** Until a restore's step waits for those who write events. */
async function waitingForTheLock(): Promise<void> {
  await expect
    .poll(() =>
      app.database.query(raw("select from pg_locks where relation = 'job_event'::regclass and not granted")),
    )
    .toHaveLength(1);
}

describe("deliveries", () => {
  it("that wait are sent with a mark, which the log shows; those made since are sent without", async () => {
    const receiver = await startTestReceiver();
    onTestFinished(() => receiver[Symbol.asyncDispose]());
    const endpoint = await rig.createEndpoint({ url: receiver.url });
    await app.createJobs(rig.agent, [{}]);
    const { deliveriesFlagged } = await conclude();
    expect(deliveriesFlagged).toBe(1);
    await app.createJobs(rig.agent, [{}]);

    const dispatcher = await rig.startDispatcher();
    dispatcher.wake();
    await rig.waitForStatus(endpoint, "delivered");
    const marks = receiver.received.map(({ headers }) => headers["webhook-redelivery"]);
    expect(new Set(marks)).toEqual(new Set(["restore", undefined]));
    expect(marks).toHaveLength(2);
    const logged = await app.database.query(sql`
      select request_headers ->> 'webhook-redelivery' as mark from webhook_attempt
      where delivery_id in (select id from webhook_delivery where endpoint_id = ${endpoint}) order by 1 nulls last`);
    expect(logged).toEqual([{ mark: "restore" }, { mark: null }]);
  });

  it("are not touched while a worker is connected, and neither is anything else", async () => {
    const next = raw("select next_version(0) as next");
    const before = await app.database.query(next);
    await app.database.transaction(async (tx) => {
      await tx.query(raw("set local application_name = 'waymark worker'"));
      await expect(conclude()).rejects.toThrow("Stop all servers");
    });
    expect(await app.database.query(next)).toEqual(before);
  });
});

it("everybody is signed out, and the audit log tells what was done", async () => {
  const agent = await app.createOrganization("agent");
  const person = await createTestUser(app, { organizationId: agent.id, role: "member" });
  const browser = await signIn(app, person);
  const { sessionsEnded, minNextVersion } = await conclude();
  expect(sessionsEnded).toBe(1);
  expectFailure(await browser.get("/auth/session"), 401);
  const [entry] = await app.database.query<{ details: object }>(
    raw("select actor, details from audit_entry where action = 'database.restored' order by id desc limit 1"),
  );
  expect(entry).toMatchObject({
    actor: "system",
    details: { min_next_version: minNextVersion, sessions_ended: 1, deliveries_flagged: 0 },
  });
});

/** What a process does at its start; answers with what it had to do. */
async function admit(box: SecretBox = testSecretBox): Promise<RecoveryResult[]> {
  const told: RecoveryResult[] = [];
  await migrateDatabase(
    { url: app.databaseUrl, poolSize: 2, entities },
    {
      afterMigrate: createStartupCheck({
        openBox: async () => box,
        tell: (restoration) => told.push(restoration),
      }),
    },
  );
  return told;
}

describe("a process that starts", () => {
  it("goes on by itself where only the timeline is another: it was restored to a moment, or a standby took over", async () => {
    await expect(admit()).resolves.toEqual([]);
    await app.database.query(raw("update database_identity set timeline = timeline + 1"));
    const agent = await app.createOrganization("agent");
    const person = await createTestUser(app, { organizationId: agent.id, role: "member" });
    const browser = await signIn(app, person);
    const [told] = await admit();
    expect(told?.minNextVersion).toBeGreaterThan(secondsSince2026() - 60);
    await expect(admit()).resolves.toEqual([]);
    // It may have been a standby that lost nothing.
    expectData(await browser.get("/auth/session"));
  });

  it.each(["system_identifier", "database_oid"])(
    "refuses where the %s is another, until told",
    async (column) => {
      await admit();
      await app.database.query(raw(`update database_identity set ${column} = '1'`));
      const refusal = await admit().catch((error: unknown) => error);
      expect(refusal).toBeInstanceOf(StartupError);
      expect(refusal).toMatchObject({ hint: expect.stringMatching(/npx waymark after-restore.*pg_upgrade/) });
      await conclude();
      await expect(admit()).resolves.toEqual([]);
    },
  );

  it("refuses another WAYMARK_SECRET, until told that the former one is lost", async () => {
    const other = createSecretBox(Buffer.alloc(32, "other"));
    await admit();
    const refusal = await admit(other).catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(StartupError);
    expect(refusal).toMatchObject({
      message: expect.stringContaining("WAYMARK_SECRET is not the one"),
      hint: expect.stringContaining("npx waymark accept-secret"),
    });

    await rig.createEndpoint({ url: "http://127.0.0.1:9/" });
    const lost = await acceptSecret(app.database, other);
    expect(lost.endpoints).toHaveLength(await endpoints());
    await expect(admit(other)).resolves.toEqual([]);
    await expect(admit()).rejects.toThrow("WAYMARK_SECRET is not the one");
    // It is found again.
    expect(await acceptSecret(app.database, testSecretBox)).toEqual({
      endpoints: [],
      headers: [],
      userEmails: [],
    });
    await expect(admit()).resolves.toEqual([]);
  });

  it("asks the endpoints' secrets of a database that has no check yet", async () => {
    await admit();
    await rig.createEndpoint({ url: "http://127.0.0.1:9/" });
    await app.database.query(raw("update database_identity set secret_check = null"));
    await expect(admit(createSecretBox(Buffer.alloc(32, "other")))).rejects.toThrow("WAYMARK_SECRET");
    await expect(admit()).resolves.toEqual([]);
    const [mark] = await app.database.query<{ secret_check: string }>(
      raw("select secret_check from database_identity"),
    );
    expect(mark?.secret_check).toMatch(/^s1\./);
  });
});

async function endpoints(): Promise<number> {
  return (await app.database.query(raw("select from webhook_endpoint where deleted_at is null"))).length;
}
