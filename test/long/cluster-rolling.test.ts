/** A release in the middle of the day: every process is replaced, one after the other, and nobody notices. */
import { setTimeout as pause } from "node:timers/promises";
import { expect, it, onTestFinished, vi } from "vitest";
import { toTypedId } from "../../src/platform/ids.ts";
import { sql } from "../../src/platform/postgres/sql.ts";
import {
  createIdempotentRepeats,
  startClusterSubscriber,
  startClusterTraffic,
} from "../support/processes/cluster-traffic.ts";
import { restartMember, startTestCluster, type TestCluster } from "../support/processes/cluster.fixture.ts";
import { verifyDeliveries } from "../support/faults/delivery-checks.ts";
import { eventually } from "../support/faults/change-load.ts";
import {
  openFaultFixture,
  type FaultEndpoint,
  type FaultFixture,
} from "../support/faults/webhook.fixture.ts";

vi.setConfig({ testTimeout: 400_000 });

/** So many that no delivery is given up before its receiver is mended: the circuit lets few attempts through. */
const WEBHOOK_RETRY_SCHEDULE = ["0s", ...Array.from({ length: 20 }, () => "5s")].join(",");
/** Limits that are counted, and never reached. */
const WIDE = { perSecond: 1_000, burst: 1_000 };
const SLOW_MS = 1_000;

it("every process replaced under load: no request fails, no delivery is lost, late or sent twice, subscribers come back", async () => {
  const cluster = await startTestCluster({ WEBHOOK_RETRY_SCHEDULE });
  onTestFinished(() => cluster[Symbol.asyncDispose]());
  const world = await openFaultFixture(cluster);
  const { failing } = await addEndpoints(world);
  // The slow receiver and the failing one are told of the last two alone: of so few the slow one can keep up.
  const numbers = [...(await world.addJobs(18)), ...(await world.addJobs(2, "assigned"))];
  const caller = { url: cluster.url, ...(await makeKey(cluster, world)) };
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
  const before = await eventually(() => eventsOf(world, 0));

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
  expect(await sharedBuckets(world, caller.id)).toEqual(["batch", "read", "write"]);
  await expectAllToWait(world, failing);
  await repairEndpoint(world, failing);
  await verifyDeliveries(world, { duplicates: 0 });
  // Each at its first attempt: nothing waited for a lease to run out.
  const others = world.endpoints.filter((endpoint) => endpoint !== failing);
  expect(await Promise.all(others.map((endpoint) => maxAttempts(world, endpoint)))).toEqual([1, 1, 1, 1]);
  const since = await eventually(() => eventsOf(world, before.length));
  for (const follower of followers) {
    await follower.stop();
    expect(since.filter((id) => !follower.seenEventIds.has(id))).toEqual([]);
  }
  // Whichever API they were with, it was replaced.
  expect(followers.map((follower) => follower.reconnectCount() > 0)).toEqual([true, true]);
});

/** Three of the agent's that take everything; of the contractor's, one that is slow and one that fails. */
async function addEndpoints(world: FaultFixture): Promise<{ failing: FaultEndpoint }> {
  for (let count = 0; count < 3; count += 1) await world.addEndpoint({ maxInFlight: 8 });
  const owner = world.contractor;
  await world.addEndpoint({ owner, maxInFlight: 64, respond: () => pause(SLOW_MS, {}) });
  return { failing: await world.addEndpoint({ owner, respond: () => ({ status: 500 }) }) };
}

async function makeKey({ app }: TestCluster, { agent }: FaultFixture): Promise<{ id: string; key: string }> {
  const { organizationId } = agent;
  const rateLimits = { read: WIDE, write: WIDE, batch: WIDE };
  const made = await app.keys.create({ organizationId, name: "wide", createdBy: "test", rateLimits });
  return { id: made.key.id, key: made.text };
}

/** The classes of requests that PostgreSQL has a bucket of the key's for. */
async function sharedBuckets({ database }: FaultFixture, keyId: string): Promise<string[]> {
  const rows = await database.query<{ name: string }>(
    sql`select split_part(id, ':', 2) as name from rate_limit_bucket where starts_with(id, ${keyId}) order by 1`,
  );
  return rows.map(({ name }) => name);
}

/** Once nobody is sending: a delivery for every event, each of which waits, and the circuit open after some attempts. */
async function expectAllToWait({ database, contractor }: FaultFixture, { id }: FaultEndpoint): Promise<void> {
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

/** It takes everything from now on, and what waits for it is sent without waiting for the next probe. */
async function repairEndpoint(world: FaultFixture, endpoint: FaultEndpoint): Promise<void> {
  endpoint.respond = () => ({});
  await world.endpointService.resume(world.contractor, endpoint.typedId);
}

async function maxAttempts({ database }: FaultFixture, { id }: FaultEndpoint): Promise<number> {
  const [row] = await database.query<{ most: number }>(
    sql`select max(attempts) as most from webhook_delivery where endpoint_id = ${id}`,
  );
  return row?.most ?? 0;
}

/** The ids of all events but the first so many. */
async function eventsOf({ database }: FaultFixture, skipped: number): Promise<string[]> {
  const rows = await database.query<{ id: string }>(
    sql`select id from job_event order by id offset ${skipped}`,
  );
  return rows.map(({ id }) => toTypedId("evt", id));
}
