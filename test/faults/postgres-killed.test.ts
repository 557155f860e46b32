/** PostgreSQL is killed under traffic: requests get a response or 503, and confirmed changes are neither lost nor applied twice. */
import { afterAll, beforeAll, expect, it } from "vitest";
import {
  openDedicatedPostgres,
  openTrafficFixture,
  type DedicatedPostgres,
} from "../support/faults/postgres.fixture.ts";
import { killDuringIdempotentBatches } from "../support/faults/idempotent-batches.ts";
import { verifyDeliveries } from "../support/faults/delivery-checks.ts";
import { readinessStatus } from "../support/faults/change-load.ts";
import { countPossibleDuplicates, expireLostLeases } from "../support/faults/postgres-webhooks.ts";

let postgres: DedicatedPostgres;
beforeAll(async () => {
  postgres = await openDedicatedPostgres();
});
afterAll(() => postgres[Symbol.asyncDispose]());

// evidence: postgres-killed-recovers
it("returns 503 while PostgreSQL is killed, and delivers every confirmed change", async () => {
  const { fixture, server, traffic } = await openTrafficFixture(await postgres.newDatabase());
  const fromMs = Date.now();
  await Promise.all([postgres.kill(), traffic.waitForRejections()]);
  const untilMs = Date.now();
  await traffic.waitForSuccesses();
  await traffic.stopAndVerify();
  await expireLostLeases(fixture, server);
  const duplicates = await countPossibleDuplicates(fixture, { fromMs, untilMs });
  await verifyDeliveries(fixture, { duplicates, allowsLostRecords: true });
  expect(await readinessStatus(server)).toBe(200);
});

// evidence: idempotency-killed-processes
it("applies every keyed batch once and repeats its response, although server and PostgreSQL are killed", async () => {
  expect(await killDuringIdempotentBatches(postgres, { batches: 60, kills: 1 })).toEqual([]);
});
