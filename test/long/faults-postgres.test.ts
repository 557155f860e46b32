/** PostgreSQL is unavailable for longer than the request timeout: requests get 503 in time, and no change is lost. */
import { afterAll, beforeAll, expect, it, onTestFinished, vi } from "vitest";
import { startFaultProxy } from "../support/database/fault-proxy.ts";
import {
  openDedicatedPostgres,
  openTrafficFixture,
  type DedicatedPostgres,
  totalMaxInFlight,
} from "../support/faults/postgres.fixture.ts";
import { verifyDeliveries } from "../support/faults/delivery-checks.ts";
import { readinessStatus } from "../support/faults/change-load.ts";
import { eventually } from "../support/eventually.ts";

vi.setConfig({ testTimeout: 300_000, hookTimeout: 60_000 });

let postgres: DedicatedPostgres;
beforeAll(async () => {
  postgres = await openDedicatedPostgres();
});
afterAll(() => postgres[Symbol.asyncDispose]());

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
