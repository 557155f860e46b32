/** Monitoring, sweeping and cleaning the delivery queue. */
import { beforeEach, describe, expect, it } from "vitest";
import { fromTypedId, newUuid, uuidV7Sql } from "../../../src/core/ids.ts";
import { entities } from "../../../src/app/entities.ts";
import { openDatabase } from "../../../src/core/postgres/database.ts";
import { sql, type Sql } from "../../../src/core/postgres/sql.ts";
import { endpointsWithDueRetries, readQueueStats } from "../../../src/webhooks/deliveries/queue-stats.sql.ts";
import { discardPending } from "../../../src/webhooks/deliveries/discard-pending.sql.ts";
import { openTransaction, waitForBlockedSessions } from "../../support/database/blocked-sessions.ts";
import { useWebhookServices } from "../../support/webhooks/service.fixture.ts";

const services = useWebhookServices();

// The statistics are those of all deliveries.
beforeEach(() => services.database.query(sql`delete from webhook_delivery`));

interface Standing {
  status?: "active" | "paused" | "disabled";
  isSuspended?: boolean;
  isDeleted?: boolean;
  isTest?: boolean;
  /** Open circuit with a probe due in this many seconds. */
  probeInS?: number;
}

/** Creates an endpoint of a new organisation and returns its UUID. */
async function endpoint(standing: Standing = {}): Promise<string> {
  const { status = "active", isSuspended = false, isDeleted = false, probeInS = null } = standing;
  const { isTest = false } = standing;
  const owner = await services.createOrganization("agent");
  const made = await services.endpoints.create(owner, { url: "http://127.0.0.1:9/webhooks" });
  const id = fromTypedId("whe", made.endpoint.id) as string;
  await services.database.query(sql`
    update webhook_endpoint set status = ${status}, deleted_at = case when ${isDeleted} then now() end,
      circuit_step = case when ${probeInS}::int is not null then 1 end,
      blocked_until = clock_timestamp() + ${probeInS}::int * interval '1 s'
    where id = ${id}`);
  if (isTest) {
    const live = await services.createOrganization("agent");
    await services.database.query(
      sql`update organization set live_organization_id = ${live.organizationId} where id = ${owner.organizationId}`,
    );
  }
  if (isSuspended)
    await services.database.query(
      sql`update organization set suspended_at = now() where id = ${owner.organizationId}`,
    );
  return id;
}

/** Creates pending deliveries; `agoS` is how long they have been due. */
async function waiting(
  endpointId: string,
  { count = 1, attempts = 0, agoS = 0 }: { count?: number; attempts?: number; agoS?: number } = {},
): Promise<void> {
  await services.database.query(sql`
    insert into webhook_delivery (id, endpoint_id, event_id, event_type, attempts, due_at)
    select ${uuidV7Sql}, ${endpointId}, ${newUuid()}, 'job.updated', ${attempts}::int,
      clock_timestamp() - ${agoS}::int * interval '1 s'
    from generate_series(1, ${count}::int)`);
}

describe("readQueueStats", () => {
  it("returns the age of the oldest due delivery and a bounded count of deliveries on hold", async () => {
    expect(await readQueueStats(services.database)).toEqual({ oldestDueAgeS: 0, onHold: 0 });
    await waiting(await endpoint(), { agoS: 40 });
    await waiting(await endpoint({ status: "paused" }), { count: 10_500, agoS: 90 });
    await waiting(await endpoint({ status: "disabled" }), { count: 2, attempts: 1, agoS: 90 });
    await waiting(await endpoint({ isSuspended: true }), { count: 3, agoS: 90 });
    await waiting(await endpoint({ status: "paused", isDeleted: true }), { agoS: 90 });
    const { oldestDueAgeS, onHold } = await readQueueStats(services.database);
    expect(oldestDueAgeS).toBeGreaterThanOrEqual(40);
    expect(oldestDueAgeS).toBeLessThan(80);
    expect(onHold).toBe(10_005);
  });

  it("leaves out test endpoints", async () => {
    await waiting(await endpoint({ isTest: true }), { agoS: 9_000 });
    await waiting(await endpoint({ isTest: true }), { agoS: 9_000, attempts: 1 });
    await waiting(await endpoint({ isTest: true, status: "paused" }), { agoS: 90 });
    await waiting(await endpoint({ isTest: true, status: "disabled", isSuspended: true }), { agoS: 90 });
    expect(await readQueueStats(services.database)).toEqual({ oldestDueAgeS: 0, onHold: 0 });
  });

  it("returns the age even if the count fails", async () => {
    await waiting(await endpoint(), { agoS: 40 });
    let asked = 0;
    const { oldestDueAgeS, onHold } = await readQueueStats({
      async query<Row>(statement: Sql) {
        asked += 1;
        if (asked > 1) throw new Error("canceling statement due to statement timeout");
        return await services.database.query<Row>(statement);
      },
    });
    expect(oldestDueAgeS).toBeGreaterThanOrEqual(40);
    expect(onHold).toBeNaN();
  });
});

describe("endpointsWithDueRetries", () => {
  it("finds endpoints with due retries, and open circuits with a pending delivery", async () => {
    const [retry, later, first, unsent, due, early, empty] = [
      await endpoint(),
      await endpoint(),
      await endpoint(),
      await endpoint({ probeInS: -1 }),
      await endpoint({ probeInS: -1 }),
      await endpoint({ probeInS: 60 }),
      await endpoint({ probeInS: -1 }),
    ];
    const all = new Set([retry, later, first, unsent, due, early, empty]);
    await waiting(retry, { attempts: 1 });
    await waiting(later, { attempts: 1, agoS: -60 });
    // Never attempted and with a closed circuit: workers are notified when the delivery is created.
    await waiting(first);
    await waiting(unsent);
    await waiting(due, { attempts: 1 });
    await waiting(early);
    const found = ((await endpointsWithDueRetries(services.database)) ?? []).filter((id) => all.has(id));
    expect(found.toSorted()).toEqual([retry, unsent, due].toSorted());
  });
});

it("endpointsWithDueRetries finds nothing to claim only if no first attempt waits either", async () => {
  const id = await endpoint();
  await waiting(id);
  await services.database.transaction(async (tx) => {
    await tx.query(sql`delete from webhook_delivery where endpoint_id <> ${id}`);
    expect(await endpointsWithDueRetries(tx)).toEqual([]);
    await tx.query(sql`delete from webhook_delivery`);
    expect(await endpointsWithDueRetries(tx)).toBeNull();
  }, "rollback");
});

const lock = (deliveryId = "") =>
  sql`update webhook_delivery set outcome = 'timeout' where status = 'pending' and id = ${deliveryId}`;

describe("discardPending", () => {
  it("retries after a deadlock", async () => {
    const id = await endpoint();
    await waiting(id, { count: 3 });
    const [first, second, third] = await services.listDeliveries(sql`endpoint_id = ${id}`);
    await services.database.query(sql`update webhook_endpoint set deleted_at = now() where id = ${id}`);
    let discarding: Promise<number> | undefined;
    // PostgreSQL looks for a deadlock once per wait, and ends the transaction that finds it. The last wait is the discarding one's.
    await using impatient = await openDatabase({
      url: services.databaseUrl,
      poolSize: 1,
      entities,
      session: { deadlock_timeout: "10ms" },
    });
    const other = await openTransaction(services.database, lock(second?.id));
    await services.database.transaction(async (tx) => {
      await tx.query(sql`set local deadlock_timeout = '1h'`);
      await tx.query(lock(third?.id));
      discarding = discardPending(impatient, { endpointId: id, endpointIs: "deleted" });
      await waitForBlockedSessions(services.database, 1);
      const locking = tx.query(lock(first?.id));
      await waitForBlockedSessions(services.database, 2);
      await other.commit();
      await locking;
    });
    expect(await discarding).toBe(3);
  });
});
