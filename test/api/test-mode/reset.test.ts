/** A reset of test data under concurrent changes: it leaves no row, and blocks only the test mode of its partner. */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createDataServices } from "../../../src/app/data-services.ts";
import type { TestPrincipal } from "../../../src/test-mode/test-mode.service.ts";
import { systemClock } from "../../../src/platform/clock.ts";
import { uuidV7Sql } from "../../../src/platform/ids.ts";
import { sql } from "../../../src/platform/postgres/sql.ts";
import { systemActor } from "../../../src/platform/principal.ts";
import { startTestApp, type TestApp } from "../../support/app/app.fixture.ts";
import { openTransaction, waitForBlockedSessions } from "../../support/database/blocked-sessions.ts";
import { eventually } from "../../support/eventually.ts";
import { createTestMongo } from "../../support/database/test-mongo.ts";

let app: TestApp;

beforeAll(async () => {
  // Without a worker, which would send the deliveries in the background.
  const env = { WEBHOOK_ALLOW_PRIVATE: "on", WAYMARK_ROLE: "api", MONGODB_URL: createTestMongo().url };
  app = await startTestApp(env);
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
  expect(await app.database.query(sql`select from webhook_delivery where ${ofPartner}`)).toEqual([]);
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
    await testMode.createJobs(principal, { count: 1, template: {}, assigned: true }, tx);
    expect((await createKey()).text).toMatch(/^wmk_test_/);
  });
});
