/** Recovery after a database restore: version floor, feed sequence, delivery flags and startup checks. */
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { feedCursor, readFeedCursor } from "../../../src/events/cursors.ts";
import type { FeedPosition } from "../../../src/events/cursors.ts";
import { StartupError } from "../../../src/core/errors.ts";
import { newUuid } from "../../../src/core/ids.ts";
import { createSecretBox, type SecretBox } from "../../../src/core/secret-box.ts";
import { raw, sql } from "../../../src/core/postgres/sql.ts";
import { finishRestore, type RestoreResult } from "../../../src/restore/service.ts";
import { acceptSecret } from "../../../src/restore/secret-check.service.ts";
import { createTestUser, signIn } from "../../support/accounts/session-client.ts";
import { expectData, expectFailure } from "../../support/app/assertions.ts";
import { listFeedEvents, waitForFeedEvents, getFeed } from "../../support/app/feed-client.ts";
import { getJob, patchJob } from "../../support/app/job-client.ts";
import { runStartupCheck } from "../../support/database/startup-check.ts";
import { testSecretBox } from "../../support/test-secret.ts";
import type { TestOrganization, TestApp } from "../../support/app/app.fixture.ts";
import { startTestReceiver } from "../../support/webhooks/receiver.ts";
import { startDispatcherFixture, type DispatcherFixture } from "../../support/webhooks/dispatcher.fixture.ts";

let fixture: DispatcherFixture;
let app: TestApp;
beforeAll(async () => {
  fixture = await startDispatcherFixture();
  ({ app } = fixture);
});
afterAll(() => fixture[Symbol.asyncDispose]());

/** Lower bound of the version floor after a restore. */
const secondsSince2026 = (): number => Math.floor((Date.now() - Date.UTC(2026)) / 1000);

async function versionOf(agent: TestOrganization, markingNumber: string): Promise<number> {
  return Number((await getJob(app, agent, markingNumber)).headers.get("etag")?.slice(1, -1));
}

const finish = (): Promise<RestoreResult> => finishRestore(app.database);
const start = (box?: SecretBox): Promise<RestoreResult[]> => runStartupCheck(app.databaseUrl, box);

describe("job versions", () => {
  it("stay unchanged until a job changes, then skip past every version used before", async () => {
    // As in a database that was never restored.
    await app.database.query(
      raw("create or replace function next_version(version int) returns int return greatest(version, 0) + 1"),
    );
    const agent = await app.createOrganization("agent");
    const [number = ""] = await app.createJobs(agent, [{}]);
    expectData(await patchJob(app, agent, number, { weight: 1 }));
    const before = secondsSince2026();
    const { minNextVersion } = await finish();

    expect(minNextVersion).toBeGreaterThan(before);
    expect(await versionOf(agent, number)).toBe(2);
    // The job still matches version 2, so If-Match with it succeeds.
    const headers = { "if-match": '"2"' };
    const changed = await patchJob(app, { ...agent, headers }, number, { weight: 2 });
    expectData(changed);
    expect(changed.headers.get("etag")).toBe(`"${minNextVersion}"`);
    expectData(await patchJob(app, agent, number, { weight: 3 }));
    expect(await versionOf(agent, number)).toBe(minNextVersion + 1);
    // Version 3 was used by a lost change.
    const stale = { ...agent, headers: { "if-match": '"3"' } };
    expectFailure(await patchJob(app, stale, number, { weight: 4 }), 412);
    const events = await waitForFeedEvents(app, agent, 4);
    expect(events.map(({ data }) => data.sequence)).toEqual([1, 2, minNextVersion, minNextVersion + 1]);
  });

  it("of new jobs start above the floor, because lost jobs may have had the same Marking Number", async () => {
    const { minNextVersion } = await finish();
    const agent = await app.createOrganization("agent");
    const contractor = await app.createOrganization("contractor");
    const [number = ""] = await app.createJobs(agent, [{ contractor }]);
    expect(await versionOf(agent, number)).toBe(minNextVersion + 1);
  });
});

/** Returns the cursor of a lost event, `transactions` after `cursor`. */
function cursorLater(cursor: string, transactions: number): string {
  const { transaction_id, position } = readFeedCursor(cursor) as FeedPosition;
  return feedCursor({ transaction_id: String(BigInt(transaction_id) + BigInt(transactions)), position });
}

describe("the feed", () => {
  it("returns new events after the cursor of a lost event", async () => {
    const agent = await app.createOrganization("agent");
    const [number = ""] = await app.createJobs(agent, [{}]);
    await waitForFeedEvents(app, agent, 1);
    const { next_cursor: cursor } = expectData(await getFeed(app, agent));
    const lostCursor = cursorLater(cursor, 100_000);
    await finish();
    expect(await listFeedEvents(app, agent, `after=${cursor}`)).toEqual([]);

    expectData(await patchJob(app, agent, number, { weight: 1 }));
    const [event] = await waitForFeedEvents(app, agent, 1, `after=${lostCursor}`);
    expect(await listFeedEvents(app, agent, `after=${cursor}`)).toEqual([event]);
    expect(await listFeedEvents(app, agent)).toHaveLength(2);
  });

  it("returns events from a cluster with higher transaction IDs, and new events after them", async () => {
    const agent = await app.createOrganization("agent");
    const [number = ""] = await app.createJobs(agent, [{}]);
    await app.database.query(sql`
      update job_event set transaction_id = (transaction_id::text::bigint + 1000000000)::text::xid8
      where agent_id = ${agent.id}`);
    // Before the recovery, the feed hides these events, and a server refuses to start.
    expect(await listFeedEvents(app, agent)).toEqual([]);
    await expect(start()).rejects.toThrow("restored from a backup, or copied");

    await finish();
    const [old] = await waitForFeedEvents(app, agent, 1);
    const { next_cursor: cursor } = expectData(await getFeed(app, agent));
    expectData(await patchJob(app, agent, number, { weight: 1 }));
    const [recent] = await waitForFeedEvents(app, agent, 1, `after=${cursor}`);
    expect((await listFeedEvents(app, agent)).map(({ id }) => id)).toEqual([old?.id, recent?.id]);
    await expect(start()).resolves.toEqual([]);
  });

  it("waits for a running transaction that has written an event, and keeps the event in order", async () => {
    const agent = await app.createOrganization("agent");
    const [number = "", other = ""] = await app.createJobs(agent, [{}, {}]);
    await waitForFeedEvents(app, agent, 2);
    let finished: Promise<unknown> = Promise.resolve();
    await app.database.transaction(async (tx) => {
      await tx.query(sql`
        insert into job_event (id, type, job_id, agent_id, sequence, actor_type, changes, job)
        select ${newUuid()}::uuid, 'job.updated', id, agent_id, 2, 'system', '{}', to_jsonb(job) from job
        where marking_number = ${number}`);
      finished = finish();
      await waitUntilLockIsRequested();
    });
    await finished;
    expectData(await patchJob(app, agent, other, { weight: 1 }));
    const events = await waitForFeedEvents(app, agent, 4);
    expect(events.slice(2).map(({ data }) => data.job.marking_number)).toEqual([number, other]);
  });
});

/** Waits until the recovery is blocked by the transaction that writes an event. */
async function waitUntilLockIsRequested(): Promise<void> {
  await expect
    .poll(() =>
      app.database.query(raw("select from pg_locks where relation = 'job_event'::regclass and not granted")),
    )
    .toHaveLength(1);
}

describe("deliveries", () => {
  it("that were pending are sent and logged with Webhook-Redelivery: restore, later ones without", async () => {
    const receiver = await startTestReceiver();
    onTestFinished(() => receiver[Symbol.asyncDispose]());
    const agent = await app.createOrganization("agent");
    const endpoint = await fixture.createEndpoint({ url: receiver.url }, agent);
    await app.createJobs(agent, [{}]);
    const { deliveriesFlagged } = await finish();
    expect(deliveriesFlagged).toBe(1);
    await app.createJobs(agent, [{}]);

    const dispatcher = await fixture.startDispatcher();
    dispatcher.wake();
    await fixture.waitForStatus(endpoint, "delivered");
    const marks = receiver.received.map(({ headers }) => headers["webhook-redelivery"]);
    expect(new Set(marks)).toEqual(new Set(["restore", undefined]));
    expect(marks).toHaveLength(2);
    const logged = await app.database.query(sql`
      select request_headers ->> 'webhook-redelivery' as mark from webhook_attempt
      where delivery_id in (select id from webhook_delivery where endpoint_id = ${endpoint}) order by 1 nulls last`);
    expect(logged).toEqual([{ mark: "restore" }, { mark: null }]);
  });

  it("and versions stay unchanged while a worker is connected", async () => {
    const next = raw("select next_version(0) as next");
    const before = await app.database.query(next);
    await app.database.transaction(async (tx) => {
      await tx.query(raw("set local application_name = 'waymark worker'"));
      await expect(finish()).rejects.toThrow("Stop all servers");
    });
    expect(await app.database.query(next)).toEqual(before);
  });
});

it("revokes all sessions and records an audit entry", async () => {
  const agent = await app.createOrganization("agent");
  const user = await createTestUser(app, { organizationId: agent.id, role: "dispatcher" });
  // Ends the sessions of other tests.
  await finish();
  const browser = await signIn(app, user);
  const { sessionsEnded, minNextVersion } = await finish();
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

describe("a starting process", () => {
  it("recovers automatically if only the timeline changed, after a point-in-time restore or failover", async () => {
    await expect(start()).resolves.toEqual([]);
    await app.database.query(raw("update database_identity set timeline = timeline + 1"));
    const agent = await app.createOrganization("agent");
    const user = await createTestUser(app, { organizationId: agent.id, role: "dispatcher" });
    const browser = await signIn(app, user);
    const [recovery] = await start();
    expect(recovery?.minNextVersion).toBeGreaterThan(secondsSince2026() - 60);
    await expect(start()).resolves.toEqual([]);
    // Sessions stay valid, because a promoted standby may have lost nothing.
    expectData(await browser.get("/auth/session"));
  });

  it.each(["system_identifier", "database_oid"])(
    "refuses to start if the %s changed, until after-restore has run",
    async (column) => {
      await start();
      await app.database.query(raw(`update database_identity set ${column} = '1'`));
      const error = await start().catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(StartupError);
      expect(error).toMatchObject({ hint: expect.stringMatching(/: waymark after-restore.*pg_upgrade/) });
      await finish();
      await expect(start()).resolves.toEqual([]);
    },
  );

  it("refuses another WAYMARK_SECRET until accept-secret has run", async () => {
    const other = createSecretBox(Buffer.alloc(32, "other"));
    await start();
    const error = await start(other).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(StartupError);
    expect(error).toMatchObject({
      message: expect.stringContaining("WAYMARK_SECRET is not the one"),
      hint: expect.stringContaining(": waymark accept-secret"),
    });

    await fixture.createEndpoint({ url: "http://127.0.0.1:9/" });
    const unreadable = await acceptSecret(app.database, other);
    expect(unreadable.endpoints).toHaveLength(await countEndpoints());
    await expect(start(other)).resolves.toEqual([]);
    await expect(start()).rejects.toThrow("WAYMARK_SECRET is not the one");
    // The first secret was found again.
    expect(await acceptSecret(app.database, testSecretBox)).toEqual({
      endpoints: [],
      headers: [],
      userEmails: [],
    });
    await expect(start()).resolves.toEqual([]);
  });
});

async function countEndpoints(): Promise<number> {
  return (await app.database.query(raw("select from webhook_endpoint where deleted_at is null"))).length;
}
