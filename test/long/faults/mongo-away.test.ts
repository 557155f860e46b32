/** MongoDB, which only stores task schedules, is unavailable: requests are not affected, and retries are sent later. */
import { expect, inject, it, onTestFinished, vi } from "vitest";
import { openEmbeddedMongo, type EmbeddedMongo } from "../../../src/dev/mongo/embedded-mongo.ts";
import { sql } from "../../../src/core/postgres/sql.ts";
import { stopAndRemoveAll, makeFolder } from "../../support/processes/embedded-processes.ts";
import { startFaultTraffic } from "../../support/faults/traffic.ts";
import { verifyDeliveries } from "../../support/faults/delivery-checks.ts";
import { eventually, failEveryThird, readinessStatus } from "../../support/faults/change-load.ts";
import {
  openFaultFixture,
  type FaultEndpoint,
  type FaultFixture,
} from "../../support/faults/webhook.fixture.ts";

vi.setConfig({ testTimeout: 180_000, hookTimeout: 60_000 });

function openMongo(dataDir: string): EmbeddedMongo {
  const binary = inject("mongodBinary");
  const mongo = openEmbeddedMongo({ dataDir, binary, cacheDir: dataDir, download: "off" });
  onTestFinished(() => mongo[Symbol.asyncDispose]());
  return mongo;
}

// evidence: mongo-away-first-attempts-sent
it("rejects no request and sends first attempts while MongoDB is stopped, and sends due retries once it is back", async () => {
  onTestFinished(stopAndRemoveAll);
  const dataDir = await makeFolder();
  const before = openMongo(dataDir);
  const fixture = await openFaultFixture({ mongoUrl: await before.url, schedule: "0s,1s,1s,1s" });
  const failing = await fixture.addEndpoint({ respond: failEveryThird() });
  const healthy = await fixture.addEndpoint();
  const numbers = await fixture.addJobs(5);
  const [api, worker] = await Promise.all([fixture.startServer("api"), fixture.startServer("worker")]);
  const traffic = await startFaultTraffic(fixture, api, numbers);
  await traffic.waitForSuccesses();
  await before[Symbol.asyncDispose]();
  await eventually(async () => expect(await readinessStatus(worker)).toBe(503));

  const countsBefore = [healthy, failing].map((endpoint) => idsAt(endpoint).size);
  await traffic.waitForSuccesses(5);
  await eventually(() => {
    const newCounts = [healthy, failing].map(
      (endpoint, index) => idsAt(endpoint).size - (countsBefore[index] ?? 0),
    );
    expect(Math.min(...newCounts)).toBeGreaterThan(10);
  });
  await eventually(async () => expect(await countOverdue(fixture)).toBeGreaterThan(2));
  expect([await readinessStatus(api), await readinessStatus(worker)]).toEqual([200, 503]);

  const after = openMongo(dataDir);
  expect(await after.url).toBe(fixture.mongoUrl);
  await eventually(async () => expect(await readinessStatus(worker)).toBe(200));
  await traffic.waitForSuccesses();
  expect(traffic.rejectedAnswers).toEqual([]);
  await traffic.stopAndVerify();
  await verifyDeliveries(fixture, { duplicates: 0 });
});

/** Returns the IDs of the events that the endpoint received. */
function idsAt(endpoint: FaultEndpoint): Set<unknown> {
  return new Set(endpoint.received().map(({ headers }) => headers["webhook-id"]));
}

/** Returns the number of overdue retries. */
async function countOverdue({ database }: FaultFixture): Promise<number> {
  const rows = await database.query(sql`
    select from webhook_delivery where status = 'pending' and attempts > 0 and lease_token is null
      and due_at < clock_timestamp()`);
  return rows.length;
}
