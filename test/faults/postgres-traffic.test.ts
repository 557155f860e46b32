/** PostgreSQL fails while traffic of every kind runs: callers get their answer or a 503, and nothing that was told is lost. */
import { afterAll, beforeAll, expect, it, onTestFinished, vi } from "vitest";
import { startCuttableProxy } from "../support/cuttable-proxy.ts";
import { query } from "../support/embedded-processes.ts";
import { openOwnPostgres, openTraffic, startCrowd, type OwnPostgres } from "../support/fault-postgres.ts";
import { checkDelivered } from "../support/webhook-faults.check.ts";
import { eventually, readiness } from "../support/webhook-faults.load.ts";
import { sentInDoubt } from "../support/webhook-faults.postgres.ts";

vi.setConfig({ testTimeout: 120_000, hookTimeout: 60_000 });

let postgres: OwnPostgres;
beforeAll(async () => {
  postgres = await openOwnPostgres(["-c", "max_connections=40"]);
});
afterAll(() => postgres[Symbol.asyncDispose]());

// evidence: postgres-killed-recovers
it("killed: callers are refused until it is back, and what was told is delivered", async () => {
  const { world, server, traffic } = await openTraffic(await postgres.newDatabase());
  const fromMs = Date.now();
  await Promise.all([postgres.kill(), traffic.isRefused()]);
  const untilMs = Date.now();
  await traffic.succeeds();
  await traffic.check();
  const duplicates = await sentInDoubt(world, { fromMs, untilMs });
  await checkDelivered(world, { duplicates, mayHaveForgotten: true });
  expect(await readiness(server)).toBe(200);
});

// evidence: postgres-connections-exhausted
it("out of connections, which others have taken: callers are refused, and served again once these let go", async () => {
  const { world, server, traffic } = await openTraffic(await postgres.newDatabase());
  await using crowd = startCrowd(postgres.url, "ends sessions");
  await traffic.isRefused();
  await eventually(async () => expect(await readiness(server)).toBe(503));
  await crowd[Symbol.asyncDispose]();
  await traffic.succeeds();
  await traffic.check();
  await checkDelivered(world, { duplicates: 0 });
  await eventually(async () => expect(await readiness(server)).toBe(200));
});

// evidence: postgres-pooled-connections-keep-serving
it("out of connections beside those that stand: these go on serving callers of every kind", async () => {
  const { world, traffic } = await openTraffic(await postgres.newDatabase());
  await using crowd = startCrowd(postgres.url);
  await crowd.full;
  await traffic.succeeds(10);
  // Nobody has let go meanwhile.
  await expect(query(postgres.url, "select 1")).rejects.toMatchObject({ code: "53300" });
  await crowd[Symbol.asyncDispose]();
  await traffic.succeeds();
  await traffic.check();
  await checkDelivered(world, { duplicates: 0 });
});

// evidence: postgres-slow-requests-wait
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
