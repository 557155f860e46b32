/** PostgreSQL has no free connection, or is slow, under mixed traffic: requests get a response or 503, and confirmed changes are not lost. */
import { afterAll, beforeAll, expect, it, onTestFinished, vi } from "vitest";
import { startFaultProxy } from "../../support/database/fault-proxy.ts";
import { query } from "../../support/processes/embedded-processes.ts";
import {
  openDedicatedPostgres,
  openTrafficFixture,
  exhaustConnections,
  type DedicatedPostgres,
} from "../../support/faults/postgres.fixture.ts";
import { verifyDeliveries } from "../../support/faults/delivery-checks.ts";
import { readinessStatus } from "../../support/faults/change-load.ts";
import { eventually } from "../../support/eventually.ts";

vi.setConfig({ testTimeout: 120_000, hookTimeout: 60_000 });

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
