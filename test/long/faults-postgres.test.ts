/**
 * PostgreSQL is slow, unreachable, restarted or has no free connection under traffic: requests get a response or 503 in time, and
 * no confirmed change or delivery is lost.
 */
import { afterAll, beforeAll, expect, it, onTestFinished, vi } from "vitest";
import { toTypedId } from "../../src/core/ids.ts";
import { sql } from "../../src/core/postgres/sql.ts";
import { startFaultProxy } from "../support/database/fault-proxy.ts";
import { postmasterPid, query } from "../support/processes/embedded-processes.ts";
import type { ServerProcess } from "../support/processes/server-process.ts";
import {
  exhaustConnections,
  expireLostLeases,
  openDedicatedPostgres,
  openTrafficFixture,
  startApiAndWorker,
  totalMaxInFlight,
  type DedicatedPostgres,
} from "../support/faults/postgres.fixture.ts";
import { verifyDeliveries } from "../support/faults/delivery-checks.ts";
import { readinessStatus, sumMetric } from "../support/faults/change-load.ts";
import { eventually } from "../support/eventually.ts";
import { openFaultFixture, patchWeight, type FaultFixture } from "../support/faults/webhook.fixture.ts";

vi.setConfig({ testTimeout: 300_000, hookTimeout: 60_000 });

let postgres: DedicatedPostgres;
beforeAll(async () => {
  postgres = await openDedicatedPostgres(["-c", "max_connections=40"]);
});
afterAll(() => postgres[Symbol.asyncDispose]());

// evidence: postgres-connections-exhausted
it("returns 503 while other clients use all connections, and recovers when they disconnect", async () => {
  const { fixture, server, traffic } = await openTrafficFixture(await postgres.newDatabase());
  await using crowd = exhaustConnections(postgres.url, "terminate sessions");
  await traffic.waitForRejections();
  await eventually(async () => expect(await readinessStatus(server)).toBe(503));
  await crowd[Symbol.asyncDispose]();
  await traffic.waitForSuccesses();
  await traffic.stopAndVerify();
  await verifyDeliveries(fixture, { duplicates: 0 });
  await eventually(async () => expect(await readinessStatus(server)).toBe(200));
});

// evidence: postgres-pooled-connections-keep-serving
it("serves requests on its open connections while no new ones are available", async () => {
  const { fixture, traffic } = await openTrafficFixture(await postgres.newDatabase());
  await using crowd = exhaustConnections(postgres.url);
  await crowd.full;
  await traffic.waitForSuccesses(10);
  // Still no connection is free.
  await expect(query(postgres.url, "select 1")).rejects.toMatchObject({ code: "53300" });
  await crowd[Symbol.asyncDispose]();
  await traffic.waitForSuccesses();
  await traffic.stopAndVerify();
  await verifyDeliveries(fixture, { duplicates: 0 });
});

// evidence: postgres-slow-requests-wait
it("delays requests without rejecting any while PostgreSQL is briefly suspended, then slow", async () => {
  const databaseUrl = await postgres.newDatabase();
  await using proxy = await startFaultProxy(databaseUrl);
  const { fixture, traffic } = await openTrafficFixture(databaseUrl, proxy.url);
  const wake = await postgres.suspend();
  onTestFinished(wake);
  setTimeout(wake, 1_000);
  await traffic.waitForSuccesses();
  proxy.delay(100);
  await traffic.waitForSuccesses(2);
  proxy.delay(0);
  await traffic.waitForSuccesses();
  expect(traffic.rejectedAnswers).toEqual([]);
  await traffic.stopAndVerify();
  await verifyDeliveries(fixture, { duplicates: 0 });
});

// evidence: postgres-silent-503-in-time
it("returns 503 in time while PostgreSQL is suspended beyond the timeout, and then recovers", async () => {
  const { fixture, server, traffic } = await openTrafficFixture(await postgres.newDatabase());
  const wake = await postgres.suspend();
  onTestFinished(wake);
  await traffic.waitForRejections(2);
  expect(await readinessStatus(server)).toBe(503);
  wake();
  await traffic.waitForSuccesses();
  await traffic.stopAndVerify();
  // Deliveries whose claim timed out wait for their lease to expire. Deliveries that were sent but not recorded before
  // their lease expired may be sent again.
  await verifyDeliveries(fixture, { duplicates: totalMaxInFlight(fixture) });
  await eventually(async () => expect(await readinessStatus(server)).toBe(200));
});

// evidence: postgres-statement-timeout-503
it("returns 503 in time while PostgreSQL exceeds the statement timeout, and then recovers", async () => {
  const databaseUrl = await postgres.newDatabase();
  await using proxy = await startFaultProxy(databaseUrl);
  const { fixture, server, traffic } = await openTrafficFixture(databaseUrl, proxy.url);
  proxy.delay(8_000);
  await traffic.waitForRejections(2);
  expect(await readinessStatus(server)).toBe(503);
  proxy.delay(0);
  await traffic.waitForSuccesses();
  await traffic.stopAndVerify();
  await verifyDeliveries(fixture, { duplicates: totalMaxInFlight(fixture) });
  await eventually(async () => expect(await readinessStatus(server)).toBe(200));
});

// evidence: postgres-restart-under-load
it("loses and repeats no delivery when PostgreSQL is restarted under load", async () => {
  const fixture = await openFaultFixture({ databaseUrl: await postgres.newDatabase() });
  const { api, load } = await startApiAndWorker(fixture, fixture.databaseUrl);
  for (let restart = 0; restart < 2; restart += 1) {
    await load.waitForMore(30);
    const pid = await postmasterPid(postgres.dataDir);
    process.kill(pid, "SIGINT");
    // The process that holds the data folder restarts PostgreSQL.
    await eventually(async () => expect(await postmasterPid(postgres.dataDir)).not.toBe(pid));
  }
  await load.waitForMore(30);
  await load.stop();
  await verifyDeliveries(fixture, { duplicates: 0 });
  expect(await readinessStatus(api)).toBe(200);
});

/** An API and a worker under load, whose connections to PostgreSQL a test can cut. */
async function openLoadBehindProxy() {
  const fixture = await openFaultFixture();
  const proxy = await startFaultProxy(fixture.databaseUrl);
  onTestFinished(() => proxy[Symbol.asyncDispose]());
  return { fixture, proxy, ...(await startApiAndWorker(fixture, proxy.url)) };
}

async function expectReadiness(servers: readonly ServerProcess[], status: number): Promise<void> {
  for (const server of servers) expect(await readinessStatus(server)).toBe(status);
}

// evidence: postgres-cut-off-repeatedly
it("loses no delivery across repeated disconnects, and repeats only unrecorded ones", async () => {
  const { fixture, proxy, api, worker, load } = await openLoadBehindProxy();
  for (let cut = 0; cut < 2; cut += 1) {
    await load.waitForMore(15);
    proxy.disconnect();
    await eventually(() => expectReadiness([api, worker], 503));
    expect(await patchWeight(api, fixture.agent, "any", 1)).toBe(false);
    proxy.restore();
  }
  await load.waitForMore(15);
  await load.stop();
  await verifyDeliveries(fixture, { duplicates: await expireLostLeases(fixture, worker) });
});

const ANSWER_TAKES_MS = 2_000;

/** True if a delivery was claimed so long ago that the worker cannot have received the claim's result. */
async function hasInFlightAttempt({ database, endpoints }: FaultFixture): Promise<boolean> {
  const claimed = await database.query<{ endpoint_id: string; event_id: string }>(sql`
    select endpoint_id, event_id from webhook_delivery where status = 'pending' and lease_token is not null
      and due_at between clock_timestamp() + interval '28.5 s' and clock_timestamp() + interval '29.5 s'`);
  return claimed.some(({ endpoint_id: id, event_id: eventId }) => {
    const received = endpoints.find((endpoint) => endpoint.id === id)?.received() ?? [];
    return !received.some(({ headers }) => headers["webhook-id"] === toTypedId("evt", eventId));
  });
}

// evidence: postgres-cut-off-claims-wait-for-lease
it("deliveries claimed during a disconnect are sent once, after their leases expire", async () => {
  const { fixture, proxy, api, worker, load } = await openLoadBehindProxy();
  await load.waitForMore(15);
  // Delay responses, so that the result of a claim is in transit when the connection breaks.
  proxy.delay(ANSWER_TAKES_MS);
  await eventually(async () => expect(await hasInFlightAttempt(fixture)).toBe(true));
  proxy.disconnect();
  proxy.delay(0);
  await eventually(() => expectReadiness([api, worker], 503));
  proxy.restore();
  await load.waitForMore(15);
  await load.stop();
  await verifyDeliveries(fixture, { duplicates: 0 });
  expect(await sumMetric(worker, "waymark_webhook_leases_reclaimed_total")).toBeGreaterThan(0);
  await expectReadiness([api, worker], 200);
});
