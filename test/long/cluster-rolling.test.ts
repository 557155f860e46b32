/** A rolling release under load: every process is replaced, one after the other. */
import { setTimeout as pause } from "node:timers/promises";
import { expect, it, onTestFinished, vi } from "vitest";
import { toTypedId } from "../../src/core/ids.ts";
import { sql } from "../../src/core/postgres/sql.ts";
import {
  createIdempotentRepeats,
  startClusterSubscriber,
  startClusterTraffic,
} from "../support/processes/cluster-traffic.ts";
import { restartMember, startTestCluster, type TestCluster } from "../support/processes/cluster.fixture.ts";
import { verifyDeliveries } from "../support/faults/delivery-checks.ts";
import { eventually } from "../support/eventually.ts";
import {
  openFaultFixture,
  type FaultEndpoint,
  type FaultFixture,
} from "../support/faults/webhook.fixture.ts";

vi.setConfig({ testTimeout: 400_000 });

/** Enough attempts that no delivery fails before its receiver is repaired; the circuit allows few attempts. */
const WEBHOOK_RETRY_SCHEDULE = ["0s", ...Array.from({ length: 20 }, () => "5s")].join(",");
/** Rate limits that are counted but never reached. */
const WIDE = { perSecond: 1_000, burst: 1_000 };
const SLOW_MS = 1_000;

// evidence: worker-rolling-restart, subscription-process-dies
it("replacing every process fails no request, loses or repeats no delivery, and subscribers reconnect", async () => {
  const cluster = await startTestCluster({ WEBHOOK_RETRY_SCHEDULE });
  onTestFinished(() => cluster[Symbol.asyncDispose]());
  const fixture = await openFaultFixture(cluster);
  const { failing } = await addEndpoints(fixture);
  // The slow and the failing receiver get only the last two jobs, so that the slow one can keep up.
  const numbers = [...(await fixture.addJobs(18)), ...(await fixture.addJobs(2, "assigned"))];
  const caller = { url: cluster.url, ...(await makeKey(cluster, fixture)) };
  const followers = [startClusterSubscriber(caller), startClusterSubscriber(caller)];
  const repeats = createIdempotentRepeats(
    { key: caller.key, activeUrls: () => cluster.balancer.activeUrls() },
    numbers,
  );
  const traffic = startClusterTraffic(caller, numbers, { repeated: repeats.sendTwice });
  await traffic.waitForMore(5);
  await eventually(() => {
    for (const follower of followers) expect(follower.receivedCount()).toBeGreaterThan(0);
  });
  const before = await eventually(() => eventsOf(fixture, 0));

  const codes: unknown[] = [];
  for (const member of [...cluster.apis, ...cluster.workers]) {
    codes.push(await restartMember(member));
    await traffic.waitForMore(5);
  }
  await traffic.stop();

  expect(codes).toEqual([0, 0, 0, 0]);
  expect(traffic.failures).toEqual([]);
  expect(cluster.balancer.unanswered).toEqual([]);
  expect(repeats.crossServerRepeats()).toBeGreaterThan(0);
  expect(await sharedBuckets(fixture, caller.id)).toEqual(["batch", "read", "write"]);
  await expectAllPending(fixture, failing);
  await repairEndpoint(fixture, failing);
  await verifyDeliveries(fixture, { duplicates: 0 });
  // Every delivery took one attempt, so none waited for a lease to expire.
  const others = fixture.endpoints.filter((endpoint) => endpoint !== failing);
  expect(await Promise.all(others.map((endpoint) => maxAttempts(fixture, endpoint)))).toEqual([1, 1, 1, 1]);
  const since = await eventually(() => eventsOf(fixture, before.length));
  for (const follower of followers) {
    await follower.stop();
    expect(since.filter((id) => !follower.seenEventIds.has(id))).toEqual([]);
  }
  // Every API was replaced, so every subscriber had to reconnect.
  expect(followers.map((follower) => follower.reconnectCount() > 0)).toEqual([true, true]);
});

/** Creates three healthy endpoints of the agent, and a slow and a failing one of the contractor. */
async function addEndpoints(fixture: FaultFixture): Promise<{ failing: FaultEndpoint }> {
  for (let count = 0; count < 3; count += 1) await fixture.addEndpoint({ maxInFlight: 8 });
  const owner = fixture.contractor;
  await fixture.addEndpoint({ owner, maxInFlight: 64, respond: () => pause(SLOW_MS, {}) });
  return { failing: await fixture.addEndpoint({ owner, respond: () => ({ status: 500 }) }) };
}

async function makeKey({ app }: TestCluster, { agent }: FaultFixture): Promise<{ id: string; key: string }> {
  const { organizationId } = agent;
  const rateLimits = { read: WIDE, write: WIDE, batch: WIDE };
  const created = await app.keys.create({ organizationId, name: "wide", createdBy: "test", rateLimits });
  return { id: created.key.id, key: created.text };
}

/** Returns the rate-limit classes that have a bucket for the key in PostgreSQL. */
async function sharedBuckets({ database }: FaultFixture, keyId: string): Promise<string[]> {
  const rows = await database.query<{ name: string }>(
    sql`select split_part(id, ':', 2) as name from rate_limit_bucket where starts_with(id, ${keyId}) order by 1`,
  );
  return rows.map(({ name }) => name);
}

/** Waits until no worker is sending, every event has a pending delivery, and the circuit is open. */
async function expectAllPending(
  { database, contractor }: FaultFixture,
  { id }: FaultEndpoint,
): Promise<void> {
  await eventually(async () => {
    const [found] = await database.query<Record<string, number | boolean>>(sql`
      select count(*)::int as deliveries, count(*) filter (where status = 'pending')::int as waiting,
        count(lease_token)::int as leased, sum(attempts) > 0 as "wereTried",
        (select count(*)::int from job_event where contractor_id = ${contractor.organizationId}) as events,
        (select circuit_step is not null from webhook_endpoint where id = ${id}) as "isCircuitOpen"
      from webhook_delivery where endpoint_id = ${id}`);
    const events = found?.["events"];
    expect(events).toBeGreaterThan(0);
    expect(found).toEqual({
      events,
      deliveries: events,
      waiting: events,
      leased: 0,
      wereTried: true,
      isCircuitOpen: true,
    });
  });
}

/** Lets the receiver accept everything, and sends its pending deliveries without waiting for the next probe. */
async function repairEndpoint(fixture: FaultFixture, endpoint: FaultEndpoint): Promise<void> {
  endpoint.respond = () => ({});
  await fixture.endpointService.resume(fixture.contractor, endpoint.typedId);
}

async function maxAttempts({ database }: FaultFixture, { id }: FaultEndpoint): Promise<number> {
  const [row] = await database.query<{ most: number }>(
    sql`select max(attempts) as most from webhook_delivery where endpoint_id = ${id}`,
  );
  return row?.most ?? 0;
}

/** Returns the IDs of all events except the first `count`. */
async function eventsOf({ database }: FaultFixture, skipped: number): Promise<string[]> {
  const rows = await database.query<{ id: string }>(
    sql`select id from job_event order by id offset ${skipped}`,
  );
  return rows.map(({ id }) => toTypedId("evt", id));
}
