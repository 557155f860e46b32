/** PostgreSQL fails while traffic of every kind runs: callers get their answer or a 503, and nothing that was told is lost. */
import { afterAll, beforeAll, expect, it, onTestFinished, vi } from "vitest";
import { startCuttableProxy } from "../support/cuttable-proxy.ts";
import { openOwnPostgres, openTraffic, startCrowd, type OwnPostgres } from "../support/fault-postgres.ts";
import { checkDelivered } from "../support/webhook-faults.check.ts";
import { eventually, readiness } from "../support/webhook-faults.load.ts";

vi.setConfig({ testTimeout: 120_000, hookTimeout: 60_000 });

let postgres: OwnPostgres;
beforeAll(async () => {
  postgres = await openOwnPostgres(["-c", "max_connections=40"]);
});
afterAll(() => postgres[Symbol.asyncDispose]());

/** Requests may have been on their way when they were cut off: they are sent again. */
const IN_FLIGHT = 5;

it("killed: callers are refused until it is back, and what was told is delivered", async () => {
  const { world, server, traffic } = await openTraffic(await postgres.newDatabase());
  await postgres.kill();
  await traffic.succeeds();
  await traffic.check();
  await checkDelivered(world, { duplicates: IN_FLIGHT * 10, mayHaveForgotten: true });
  expect(await readiness(server)).toBe(200);
});

it("out of connections, which others have taken: callers are refused, and served again once these let go", async () => {
  const { world, server, traffic } = await openTraffic(await postgres.newDatabase());
  const crowd = startCrowd(postgres.url);
  await traffic.isRefused();
  await eventually(async () => expect(await readiness(server)).toBe(503));
  await crowd[Symbol.asyncDispose]();
  await traffic.succeeds();
  await traffic.check();
  await checkDelivered(world, { duplicates: IN_FLIGHT });
  await eventually(async () => expect(await readiness(server)).toBe(200));
});

it("suspended for a moment, then slow: everything waits, and nobody is refused", async () => {
  const databaseUrl = await postgres.newDatabase();
  await using proxy = await startCuttableProxy(databaseUrl);
  const { world, traffic } = await openTraffic(databaseUrl, proxy.url);
  const wake = await postgres.suspend();
  onTestFinished(wake);
  setTimeout(wake, 1_000);
  await traffic.succeeds();
  proxy.slow(100);
  await traffic.succeeds(2);
  proxy.slow(0);
  await traffic.succeeds();
  expect(traffic.refused()).toBe(0);
  await traffic.check();
  await checkDelivered(world, { duplicates: 0 });
});
