/** PostgreSQL, away for longer than anybody waits, while traffic runs: callers are told so in time, and nothing is lost. */
import { afterAll, beforeAll, expect, it, onTestFinished, vi } from "vitest";
import { startCuttableProxy } from "../support/cuttable-proxy.ts";
import { openOwnPostgres, openTraffic, type OwnPostgres } from "../support/fault-postgres.ts";
import { checkDelivered } from "../support/webhook-faults.check.ts";
import { eventually, readiness } from "../support/webhook-faults.load.ts";
import { inFlightOf } from "../support/webhook-faults.postgres.ts";

vi.setConfig({ testTimeout: 300_000, hookTimeout: 60_000 });

let postgres: OwnPostgres;
beforeAll(async () => {
  postgres = await openOwnPostgres();
});
afterAll(() => postgres[Symbol.asyncDispose]());

// evidence: postgres-silent-503-in-time
it("suspended for as long as callers may wait, and longer: they are refused in time, and served once it wakes up", async () => {
  const { world, server, traffic } = await openTraffic(await postgres.newDatabase());
  const wake = await postgres.suspend();
  onTestFinished(wake);
  await traffic.isRefused(2);
  expect(await readiness(server)).toBe(503);
  wake();
  await traffic.succeeds();
  await traffic.check();
  // What a turn had claimed when its answer was given up for lost is nobody's until its lease runs out. What had been sent
  // and could not be recorded before its own ran out may be claimed again.
  await checkDelivered(world, { duplicates: inFlightOf(world) });
  await eventually(async () => expect(await readiness(server)).toBe(200));
});

// evidence: postgres-statement-timeout-503
it("slower than any statement may be: callers are refused in time, and served once it is quick again", async () => {
  const databaseUrl = await postgres.newDatabase();
  await using proxy = await startCuttableProxy(databaseUrl);
  const { world, server, traffic } = await openTraffic(databaseUrl, proxy.url);
  proxy.slow(8_000);
  await traffic.isRefused(2);
  expect(await readiness(server)).toBe(503);
  proxy.slow(0);
  await traffic.succeeds();
  await traffic.check();
  await checkDelivered(world, { duplicates: inFlightOf(world) });
  await eventually(async () => expect(await readiness(server)).toBe(200));
});
