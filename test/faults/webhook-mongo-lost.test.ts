/** MongoDB, which holds nothing but the time, goes away: the API and first attempts go on, and what is due goes out after. */
import { MongoClient } from "mongodb";
import { expect, inject, it, onTestFinished, vi } from "vitest";
import { openEmbeddedMongo, type EmbeddedMongo } from "../../src/embedded/mongo.ts";
import { sql } from "../../src/platform/sql.ts";
import { JOBS_COLLECTION } from "../../src/scheduling/job-document.ts";
import { cleanUp, makeFolder, mongodPid } from "../support/embedded-processes.ts";
import { checkDelivered } from "../support/webhook-faults.check.ts";
import { eventually, failEveryThird, readiness, startLoad } from "../support/webhook-faults.load.ts";
import { openFaultWorld, patchWeight, type FaultWorld } from "../support/webhook-faults.ts";

vi.setConfig({ testTimeout: 180_000, hookTimeout: 60_000 });

function openMongo(dataDir: string): EmbeddedMongo {
  const binary = inject("mongodBinary");
  const mongo = openEmbeddedMongo({ dataDir, binary, cacheDir: dataDir, download: false });
  onTestFinished(() => mongo[Symbol.asyncDispose]());
  return mongo;
}

/** A first attempt that failed, of each of these jobs at each endpoint. */
async function untilAllWait({ database }: FaultWorld, count: number): Promise<void> {
  await eventually(async () => {
    const waiting = await database.query(sql`
      select from webhook_delivery where status = 'pending' and attempts = 1 and lease_token is null`);
    expect(waiting).toHaveLength(count);
  });
}

it("killed and started again on its folder under load: every retry goes out", async () => {
  onTestFinished(cleanUp);
  const dataDir = await makeFolder();
  const mongo = openMongo(dataDir);
  const world = await openFaultWorld({ mongoUrl: await mongo.url });
  await world.addEndpoint({ respond: failEveryThird() });
  await world.addEndpoint({ respond: failEveryThird() });
  const numbers = await world.addJobs(6);
  const [api, worker] = await Promise.all([world.start("api"), world.start("worker")]);
  const load = startLoad(numbers, (number, weight) => patchWeight(api, world.agent, number, weight));
  for (let kill = 0; kill < 2; kill += 1) {
    await load.more(20);
    const pid = await mongodPid(dataDir);
    process.kill(pid, "SIGKILL");
    // Whoever holds the data folder starts it again.
    await eventually(async () => expect(await mongodPid(dataDir)).not.toBe(pid));
    await eventually(async () => expect(await readiness(worker)).toBe(200));
  }
  await load.more(20);
  await load.stop();
  await checkDelivered(world, { duplicates: 0 });
});

it("away while retries fall due: the API answers and records, first attempts go out, and the rest when it is back", async () => {
  onTestFinished(cleanUp);
  const dataDir = await makeFolder();
  const before = openMongo(dataDir);
  const world = await openFaultWorld({ mongoUrl: await before.url, schedule: "0s,1s,1s,1s" });
  const failing = await world.addEndpoint({ respond: () => ({ status: 500 }) });
  const healthy = await world.addEndpoint();
  const numbers = await world.addJobs(4);
  const [api, worker] = await Promise.all([world.start("api"), world.start("worker")]);
  await eventually(() => expect(healthy.received()).toHaveLength(4));
  await before[Symbol.asyncDispose]();
  await eventually(async () => expect(await readiness(worker)).toBe(503));

  for (const [at, number] of numbers.entries())
    expect(await patchWeight(api, world.agent, number, at + 1)).toBe(true);
  await eventually(() => expect(healthy.received()).toHaveLength(8));
  await eventually(() =>
    expect(new Set(failing.received().map(({ headers }) => headers["webhook-id"])).size).toBe(8),
  );
  expect([await readiness(api), await readiness(worker)]).toEqual([200, 503]);
  failing.respond = () => ({});

  const after = openMongo(dataDir);
  expect(await after.url).toBe(world.mongoUrl);
  await checkDelivered(world, { duplicates: 0 });
  expect(await readiness(worker)).toBe(200);
});

it("lost for good, with every retry that waited in it: the sweep, which sets itself up again, finds them", async () => {
  const world = await openFaultWorld({ schedule: "0s,10s,1s,1s" });
  const endpoint = await world.addEndpoint({ respond: () => ({ status: 503 }) });
  await world.start("worker");
  await world.addJobs(4);
  world.announce();
  await untilAllWait(world, 4);
  await using client = new MongoClient(world.mongoUrl);
  const jobs = client.db().collection(JOBS_COLLECTION);
  await eventually(async () =>
    expect(await jobs.countDocuments({ name: "webhooks.retry" })).toBeGreaterThan(0),
  );
  endpoint.respond = () => ({});
  await client.db().dropDatabase();
  await checkDelivered(world, { duplicates: 0 });
  await eventually(async () => expect(await jobs.countDocuments({ name: "webhooks.sweep" })).toBe(1));
});
