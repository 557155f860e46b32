/** PostgreSQL, away for longer than anybody waits, while traffic runs: callers are told so in time, and nothing is lost. */
import { afterAll, beforeAll, expect, it, onTestFinished, vi } from "vitest";
import { startFaultProxy } from "../support/database/fault-proxy.ts";
import {
  openDedicatedPostgres,
  openTrafficFixture,
  type DedicatedPostgres,
} from "../support/faults/postgres.fixture.ts";
import { verifyDeliveries } from "../support/faults/delivery-checks.ts";
import { eventually, readinessStatus } from "../support/faults/change-load.ts";
import { totalMaxInFlight } from "../support/faults/postgres-webhooks.ts";

vi.setConfig({ testTimeout: 300_000, hookTimeout: 60_000 });

let postgres: DedicatedPostgres;
beforeAll(async () => {
  postgres = await openDedicatedPostgres();
});
afterAll(() => postgres[Symbol.asyncDispose]());

// evidence: postgres-silent-503-in-time
it("suspended for as long as callers may wait, and longer: they are refused in time, and served once it wakes up", async () => {
  const { world, server, traffic } = await openTrafficFixture(await postgres.newDatabase());
  const wake = await postgres.suspend();
  onTestFinished(wake);
  await traffic.waitForRejections(2);
  expect(await readinessStatus(server)).toBe(503);
  wake();
  await traffic.waitForSuccesses();
  await traffic.stopAndVerify();
  // What a turn had claimed when its answer was given up for lost is nobody's until its lease runs out. What had been sent
  // and could not be recorded before its own ran out may be claimed again.
  await verifyDeliveries(world, { duplicates: totalMaxInFlight(world) });
  await eventually(async () => expect(await readinessStatus(server)).toBe(200));
});

// evidence: postgres-statement-timeout-503
it("slower than any statement may be: callers are refused in time, and served once it is quick again", async () => {
  const databaseUrl = await postgres.newDatabase();
  await using proxy = await startFaultProxy(databaseUrl);
  const { world, server, traffic } = await openTrafficFixture(databaseUrl, proxy.url);
  proxy.delay(8_000);
  await traffic.waitForRejections(2);
  expect(await readinessStatus(server)).toBe(503);
  proxy.delay(0);
  await traffic.waitForSuccesses();
  await traffic.stopAndVerify();
  await verifyDeliveries(world, { duplicates: totalMaxInFlight(world) });
  await eventually(async () => expect(await readinessStatus(server)).toBe(200));
});
