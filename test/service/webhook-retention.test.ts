/** How long the log of deliveries is kept: its weeks are made, and what is over goes. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { fromTypedId, newUuid, newUuidSql } from "../../src/platform/ids.ts";
import { sql } from "../../src/platform/sql.ts";
import { ensurePartitions } from "../../src/webhooks/partitions.ts";
import { DAY_MS } from "../support/fake-clock.ts";
import { agentWithEndpoint } from "../support/webhook-deliveries.ts";
import { CLOSED_URL } from "../support/webhook-endpoints.ts";
import { openWebhookServices, type WebhookServices } from "../support/webhook-services.ts";

let services: WebhookServices;

beforeAll(async () => {
  services = await openWebhookServices();
});

afterAll(() => services[Symbol.asyncDispose]());

describe("openWebhooks", () => {
  it("makes the weeks in which whatever ends finds its place, where no worker has", async () => {
    await using own = await openWebhookServices({ retentionDays: 60 });
    const weeks = await own.database.query(
      sql`select from pg_inherits where inhparent = 'webhook_attempt'::regclass`,
    );
    expect(weeks.length).toBeGreaterThan(60 / 7);
  });
});

describe("retire", () => {
  it("deletes what waited for longer than it is kept, and drops the weeks that are over", async () => {
    await using own = await openWebhookServices({ retentionDays: 7 });
    // More was kept before.
    await ensurePartitions(own.database, Date.now(), 30);
    const agent = await own.partner("agent");
    const { endpoint } = await own.endpoints.create(agent, { url: CLOSED_URL });
    const uuid = fromTypedId("whe", endpoint.id);
    const insert = (ageMs: number, status: string) =>
      own.database.query(sql`
        insert into webhook_delivery (id, endpoint_id, event_id, event_type, status)
        values (${newUuid(Date.now() - ageMs)}, ${uuid}, ${newUuid()}, 'job.updated', ${status})`);
    await insert(8 * DAY_MS, "pending");
    await insert(6 * DAY_MS, "pending");
    await insert(30 * DAY_MS, "delivered");
    await insert(DAY_MS, "delivered");
    const retired = await own.deliveries.retire();
    expect(retired.deleted).toBe(1);
    expect(retired.dropped.length).toBeGreaterThanOrEqual(2);
    expect((await own.rows()).map(({ status }) => status).toSorted()).toEqual(["delivered", "pending"]);
    expect(await own.deliveries.retire()).toEqual({ deleted: 0, dropped: [] });
  });

  it("discards what still came for an endpoint while it was deleted", async () => {
    const { agent, id, uuid } = await agentWithEndpoint(services);
    const other = await agentWithEndpoint(services);
    await services.endpoints.delete(agent, id);
    const insert = (endpoint: string, attempts: number) =>
      services.database.query(sql`
        insert into webhook_delivery (id, endpoint_id, event_id, event_type, attempts)
        values (${newUuidSql}, ${endpoint}, ${newUuid()}, 'job.updated', ${attempts})`);
    await insert(uuid, 0);
    await insert(uuid, 1);
    await insert(other.uuid, 0);
    await services.deliveries.retire();
    const statuses = async (endpoint: string) =>
      (await services.rows(sql`endpoint_id = ${endpoint}`)).map(({ status }) => status);
    expect(await statuses(uuid)).toEqual(["discarded", "discarded"]);
    expect(await statuses(other.uuid)).toEqual(["pending"]);
  });
});
