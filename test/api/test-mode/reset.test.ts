/** A reset of test data under concurrent changes: it leaves no row, and blocks only the test mode of its partner. */
import { randomUUID } from "node:crypto";
import { afterAll, describe, expect, it } from "vitest";
import { createDataServices } from "../../../src/app/data-services.ts";
import type { TestPrincipal } from "../../../src/test-mode/service.ts";
import { trimTestEvents } from "../../../src/events/api.ts";
import { systemClock } from "../../../src/core/clock.ts";
import { uuidV7Sql } from "../../../src/core/ids.ts";
import { sql } from "../../../src/core/postgres/sql.ts";
import { systemActor } from "../../../src/core/principal.ts";
import { startTestApp } from "../../support/app/app.fixture.ts";
import { expectFailure } from "../../support/app/assertions.ts";
import { openTransaction, waitForBlockedSessions } from "../../support/database/blocked-sessions.ts";
import { eventually } from "../../support/eventually.ts";
import { createTestMongo } from "../../support/database/test-mongo.ts";

const app = await startTestApp({
  // Those of the service, so that each 429 has its headers.
  RATE_LIMITS: "on",
  WEBHOOK_ALLOW_PRIVATE: "on",
  // Without a worker, which would send the deliveries in the background.
  WAYMARK_ROLE: "api",
  MONGODB_URL: createTestMongo().url,
});
afterAll(() => app[Symbol.asyncDispose]());

async function createPartner() {
  const { id: liveId } = await app.createOrganization("agent");
  const createKey = () =>
    app.keys.create({ organizationId: liveId, name: "t", createdBy: "test", testSide: "agent" });
  const { key, text } = await createKey();
  const organizationId = key.organization?.id ?? "";
  const principal: TestPrincipal = {
    organizationId,
    organizationType: "agent",
    liveOrganizationId: liveId,
    actor: systemActor,
    requestId: randomUUID(),
  };
  return { liveId, organizationId, principal, key: text, createKey };
}

/** What is left of the log and the usage. The reset itself may be logged already. */
async function loggedOf(liveId: string): Promise<{ paths: string[]; requests: number }> {
  const [row] = await app.database.query<{ paths: string[]; requests: number }>(sql`
    with side as (select id from organization where live_organization_id = ${liveId})
    select array(select path from request_log where organization_id in (table side) and path <> '/v1/test/reset') as paths,
      (select coalesce(sum(succeeded + refused + failed), 0)::int from request_usage
        where organization_id in (table side)) as requests`);
  return row!;
}

describe("the request log", () => {
  it("is deleted with the requests of this process that are not written yet", async () => {
    const { liveId, key } = await createPartner();
    for (let count = 0; count < 7; count += 1) await app.call("/v1/jobs", { key });
    const { status, body } = await app.call("/v1/test/reset", { method: "POST", key });
    expect([status, body.data]).toEqual([200, { jobs: 0, events: 0, deliveries: 0, requests: 7 }]);
    // Any later request is written after those that were recorded before.
    await app.call("/v1/jobs/stats", { key });
    await eventually(async () => expect((await loggedOf(liveId)).paths).toEqual(["/v1/jobs/stats"]));
    expect((await loggedOf(liveId)).requests).toBe(2);
  });

  it("is deleted in batches, and that of other organisations is kept", async () => {
    const partner = await createPartner();
    const other = await createPartner();
    for (const { organizationId } of [partner, other])
      await app.database.query(sql`
        insert into request_log (id, organization_id, key_id, method, path, status, duration_ms)
        select ${uuidV7Sql}, ${organizationId}, gen_random_uuid(), 'GET', '/v1/jobs', 200, 1
        from generate_series(1, 5001)`);
    const { body } = await app.call("/v1/test/reset", { method: "POST", key: partner.key });
    expect(body.data).toMatchObject({ requests: 5_001 });
    expect((await loggedOf(partner.liveId)).paths).toEqual([]);
    expect((await loggedOf(other.liveId)).paths).toHaveLength(5_001);
  });
});

it("a delivery that finishes meanwhile is deleted, and does not fail the reset", async () => {
  const { liveId, key } = await createPartner();
  const post = (path: string, body: object = {}) =>
    app.call(path, { method: "POST", key, body: JSON.stringify(body) });
  await post("/v1/webhook-endpoints", { url: "http://127.0.0.1:9" });
  await post("/v1/test/jobs");
  const ofPartner = sql`endpoint_id in (
    select id from webhook_endpoint where organization_id in (
      select id from organization where live_organization_id = ${liveId}))`;
  // Moves the rows to another partition, as a worker does.
  const worker = await openTransaction(
    app.database,
    sql`update webhook_delivery set status = 'delivered', finished_at = now() where status = 'pending' and ${ofPartner}`,
  );
  const resetting = post("/v1/test/reset").then((response) => response);
  await waitForBlockedSessions(app.database, 1);
  await worker.commit();
  const { status, body } = await resetting;
  expect([status, body.data]).toEqual([200, expect.objectContaining({ jobs: 1, deliveries: 2 })]);
  const left = await app.database.query(sql`select event_type from webhook_delivery where ${ofPartner}`);
  expect(left).toEqual([{ event_type: "job.deleted" }]);
});

it("a change of test data in progress does not block new API keys", async () => {
  const { principal, createKey } = await createPartner();
  const { testMode } = createDataServices({
    database: app.database,
    clock: systemClock,
    notifyWorkers: () => undefined,
    recordAccessChange: async () => undefined,
  });
  await app.database.transaction(async (tx) => {
    await testMode.createJobs(principal, { numbers: 1, template: {}, assigned: true }, tx);
    expect((await createKey()).text).toMatch(/^wmk_test_/);
  });
});

const reset = (key: string) => app.call("/v1/test/reset", { method: "POST", key });

/** Inserts `count` events of jobs that do not exist. */
async function insertEvents(agentId: string, count: number): Promise<void> {
  await app.database.query(sql`
    insert into job_event (id, type, job_id, agent_id, sequence, actor_type, changes, job)
    select ${uuidV7Sql}, 'job.updated', gen_random_uuid(), ${agentId}, 1, 'system', '{}', '{}'
    from generate_series(1, ${count}::int)`);
}

async function countEvents(agentId: string): Promise<number> {
  const [row] = await app.database.query<{ count: number }>(
    sql`select count(*)::int as count from job_event where agent_id = ${agentId}`,
  );
  return row?.count ?? 0;
}

describe("many events", () => {
  // evidence: test-reset-in-batches
  it("are deleted in transactions of 5,000, one reset at a time", async () => {
    const { organizationId, key } = await createPartner();
    await insertEvents(organizationId, 6_000);
    const last = await openTransaction(
      app.database,
      sql`select from job_event where id = (
        select id from job_event where agent_id = ${organizationId} order by transaction_id desc, position desc limit 1
      ) for update`,
    );
    const resetting = reset(key).then((response) => response);
    await waitForBlockedSessions(app.database, 1);
    expect(await countEvents(organizationId)).toBe(1_000);
    const second = await reset(key);
    expectFailure(second, 429, "A reset of your test data is in progress");
    expect(second.headers.get("retry-after")).toBe("5");
    await last.commit();
    const { status, body } = await resetting;
    expect([status, body.data]).toEqual([200, expect.objectContaining({ events: 6_000 })]);
    expect(await countEvents(organizationId)).toBe(0);
  });

  // evidence: test-events-bounded
  it("are trimmed to the newest ones, and those of live organisations are kept", async () => {
    const { organizationId } = await createPartner();
    const live = await app.createOrganization("agent");
    await insertEvents(organizationId, 12);
    await insertEvents(live.id, 12);
    const [newest] = await app.database.query<{ id: string }>(
      sql`select id from job_event where agent_id = ${organizationId} order by position desc limit 1`,
    );
    // Other test organisations may have more than ten, too.
    expect(await trimTestEvents(app.database, 10)).toBeGreaterThanOrEqual(2);
    expect([await countEvents(organizationId), await countEvents(live.id)]).toEqual([10, 12]);
    expect(await app.database.query(sql`select from job_event where id = ${newest?.id}`)).toHaveLength(1);
  });
});

const create = (key: string, idempotencyKey?: string) =>
  app.call("/v1/test/jobs", {
    method: "POST",
    key,
    ...(idempotencyKey !== undefined && { headers: { "idempotency-key": idempotencyKey } }),
  });

describe("changes of test data at the same time", () => {
  it("follow each other in one process, with and without an Idempotency-Key", async () => {
    const { key } = await createPartner();
    const responses = await Promise.all(
      Array.from({ length: 20 }, (_, index) => create(key, index % 2 === 0 ? `key-${index}` : undefined)),
    );
    expect(responses.map(({ status }) => status)).toEqual(Array(20).fill(201));
  });

  // evidence: test-data-lock-without-waiting
  it("are refused with 429 while another process makes one, and hold no connection", async () => {
    const { liveId, key } = await createPartner();
    const other = await openTransaction(
      app.database,
      sql`select pg_advisory_xact_lock(hashtextextended(${`test data of ${liveId}`}, 0))`,
    );
    for (const response of [await create(key), await create(key, "once"), await reset(key)]) {
      expectFailure(response, 429, "Another request is changing your test data");
      expect(response.headers.get("retry-after")).toBe("1");
    }
    await other.commit();
    expect((await create(key, "once")).status).toBe(201);
  });
});
