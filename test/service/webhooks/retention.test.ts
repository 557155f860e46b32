/** Retention of deliveries: partitions are created and expired data is purged. */
import { describe, expect, it } from "vitest";
import { newUuid, uuidV7Sql } from "../../../src/core/ids.ts";
import { sql } from "../../../src/core/postgres/sql.ts";
import { ensurePartitions } from "../../../src/webhooks/deliveries/weekly-partitions.sql.ts";
import { DAY_MS } from "../../support/fake-clock.ts";
import { setDateOffset } from "../../support/processes/fake-date.ts";
import { createAgentWithEndpoint, finishPendingDeliveries } from "../../support/webhooks/delivery.fixture.ts";
import {
  openWebhookServiceFixture,
  type WebhookServiceFixture,
} from "../../support/webhooks/service.fixture.ts";
import { insertMany } from "../../support/database/test-database.ts";

describe("openWebhooks", () => {
  it("creates missing partitions without a worker", async () => {
    await using own = await openWebhookServiceFixture({ retentionDays: 60 });
    const weeks = await own.database.query(
      sql`select from pg_inherits where inhparent = 'webhook_attempt'::regclass`,
    );
    expect(weeks.length).toBeGreaterThan(60 / 7);
  });
});

/** Inserts a delivery of this age for the endpoint and returns its id. */
async function insert(
  own: WebhookServiceFixture,
  endpoint: string,
  { ageMs, status = "pending", attempts = 0 }: { ageMs: number; status?: string; attempts?: number },
): Promise<string> {
  const id = newUuid(Date.now() - ageMs);
  await own.database.query(sql`
    insert into webhook_delivery (id, endpoint_id, event_id, event_type, status, attempts)
    values (${id}, ${endpoint}, ${newUuid()}, 'job.updated', ${status}, ${attempts})`);
  return id;
}

describe("purgeExpired", () => {
  it("deletes deliveries on hold that are older than the retention, and drops the expired weeks", async () => {
    await using own = await openWebhookServiceFixture({ retentionDays: 7 });
    // The retention was longer before.
    await ensurePartitions(own.database, Date.now(), 30);
    const { agent, id, uuid } = await createAgentWithEndpoint(own);
    await own.endpoints.pause(agent, id);
    await insert(own, uuid, { ageMs: 8 * DAY_MS });
    await insert(own, uuid, { ageMs: 6 * DAY_MS });
    await insert(own, uuid, { ageMs: 30 * DAY_MS, status: "delivered" });
    await insert(own, uuid, { ageMs: DAY_MS, status: "delivered" });
    const retired = await own.deliveries.purgeExpired();
    expect(retired.deleted).toBe(1);
    expect(retired.dropped.length).toBeGreaterThanOrEqual(2);
    expect((await own.listDeliveries()).map(({ status }) => status).toSorted()).toEqual([
      "delivered",
      "pending",
    ]);
    expect(await own.deliveries.purgeExpired()).toEqual({ deleted: 0, dropped: [] });
  });

  it("keeps a delivery that is still retried, and its partition", async () => {
    await using own = await openWebhookServiceFixture({ retentionDays: 7 });
    await ensurePartitions(own.database, Date.now(), 60);
    const { uuid } = await createAgentWithEndpoint(own);
    const id = await insert(own, uuid, { ageMs: 40 * DAY_MS, attempts: 3 });
    expect(await own.deliveries.purgeExpired()).toMatchObject({ deleted: 0 });
    await finishPendingDeliveries(own, uuid, "delivered");
    expect(await own.listDeliveries()).toMatchObject([{ id, status: "delivered" }]);
  });

  it("creates the partition of an old pending delivery after a restore without it", async () => {
    await using own = await openWebhookServiceFixture({ retentionDays: 7 });
    const { uuid } = await createAgentWithEndpoint(own);
    await insert(own, uuid, { ageMs: 40 * DAY_MS, attempts: 3 });
    await own.deliveries.purgeExpired();
    await finishPendingDeliveries(own, uuid, "failed");
    expect(await own.listDeliveries()).toMatchObject([{ status: "failed" }]);
  });

  // evidence: clock-ahead-deliveries-kept
  it("uses PostgreSQL's clock, so that a process with a wrong clock purges nothing", async () => {
    await using own = await openWebhookServiceFixture();
    const { agent, id, uuid } = await createAgentWithEndpoint(own);
    await insert(own, uuid, { ageMs: DAY_MS });
    await insert(own, uuid, { ageMs: DAY_MS, status: "delivered" });
    await own.endpoints.pause(agent, id);
    own.clock.jump(31 * DAY_MS);
    setDateOffset(31 * DAY_MS);
    const retired = await own.deliveries.purgeExpired().finally(() => setDateOffset(0));
    expect(retired).toEqual({ deleted: 0, dropped: [] });
    expect(await own.listDeliveries()).toHaveLength(2);
  });

  // evidence: on-hold-deliveries-limit
  it("keeps the newest 100,000 deliveries on hold per endpoint; the others can be replayed", async () => {
    await using own = await openWebhookServiceFixture();
    const { agent, id, uuid } = await createAgentWithEndpoint(own);
    await own.createJobs(agent, 7);
    const oldest = await own.listDeliveries();
    expect(oldest).toHaveLength(7);
    await insertMany(
      own.database,
      100_000,
      (numbers) => sql`
      insert into webhook_delivery (id, endpoint_id, event_id, event_type)
      select ${uuidV7Sql}, ${uuid}, ${uuidV7Sql}, 'job.updated' from ${numbers}`,
    );
    const count = async (): Promise<unknown> => {
      const where = sql`endpoint_id = ${uuid} and status = 'pending'`;
      const [row] = await own.database.query<{ count: number }>(
        sql`select count(*)::int as count from webhook_delivery where ${where}`,
      );
      return row?.count;
    };
    // There is no limit while the endpoint is active.
    expect(await own.deliveries.purgeExpired()).toMatchObject({ deleted: 0 });
    await own.endpoints.pause(agent, id);
    expect(await own.deliveries.purgeExpired()).toMatchObject({ deleted: 7 });
    expect(await count()).toBe(100_000);
    expect(await own.deliveries.replayMany(agent, id, { which: "missing" })).toMatchObject({ replayed: 7 });
    const replayed = await own.listDeliveries(sql`endpoint_id = ${uuid} and origin = 'replay'`);
    const events = (rows: typeof oldest): string[] => rows.map((row) => row.event_id).toSorted();
    expect(events(replayed)).toEqual(events(oldest));
  });

  it("deletes an endpoint a day after its deletion, once no delivery is left; its secrets and headers are cleared immediately", async () => {
    await using own = await openWebhookServiceFixture();
    const [kept, forgotten] = [await createAgentWithEndpoint(own), await createAgentWithEndpoint(own)];
    for (const { agent, id } of [kept, forgotten]) {
      await own.endpoints.update(agent, id, { headers: { "X-Token": "secret" } });
      await own.endpoints.delete(agent, id);
    }
    const rows = () =>
      own.database.query(sql`select id, secrets, sealed_headers from webhook_endpoint order by id`);
    const [first, second] = [kept, forgotten].map(({ uuid }) => ({
      id: uuid,
      secrets: [],
      sealed_headers: null,
    }));
    expect(await rows()).toEqual([first, second]);
    await insert(own, kept.uuid, { ageMs: DAY_MS, status: "delivered" });
    await own.deliveries.purgeExpired();
    expect(await rows()).toHaveLength(2);
    await own.database.query(sql`update webhook_endpoint set deleted_at = now() - interval '25 hours'`);
    await own.deliveries.purgeExpired();
    expect(await rows()).toEqual([first]);
  });
});
