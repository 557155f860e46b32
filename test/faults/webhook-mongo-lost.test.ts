/** MongoDB, which holds nothing but the time, goes away: the API and first attempts go on, and what is due goes out after. */
import { expect, inject, it, onTestFinished, vi } from "vitest";
import { openEmbeddedMongo, type EmbeddedMongo } from "../../src/embedded/mongo.ts";
import { cleanUp, makeFolder, mongodPid } from "../support/embedded-processes.ts";
import { checkDelivered } from "../support/webhook-faults.check.ts";
import { eventually, failEveryThird, readiness, startLoad } from "../support/webhook-faults.load.ts";
import { openFaultWorld, patchWeight } from "../support/webhook-faults.ts";

vi.setConfig({ testTimeout: 180_000, hookTimeout: 60_000 });

function openMongo(dataDir: string): EmbeddedMongo {
  const binary = inject("mongodBinary");
  const mongo = openEmbeddedMongo({ dataDir, binary, cacheDir: dataDir, download: false });
  onTestFinished(() => mongo[Symbol.asyncDispose]());
  return mongo;
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
  await load.more(15);
  const pid = await mongodPid(dataDir);
  process.kill(pid, "SIGKILL");
  // Whoever holds the data folder starts it again.
  await eventually(async () => expect(await mongodPid(dataDir)).not.toBe(pid));
  await eventually(async () => expect(await readiness(worker)).toBe(200));
  await load.more(15);
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
