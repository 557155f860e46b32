/** MongoDB, which holds nothing but the time, hangs or takes no writes while traffic runs: callers notice nothing. */
import { MongoClient } from "mongodb";
import { afterAll, beforeAll, expect, inject, it, onTestFinished, vi } from "vitest";
import { openEmbeddedMongo, type EmbeddedMongo } from "../../src/embedded/mongo/embedded-mongo.ts";
import { stopAndRemoveAll, makeFolder, mongodPid } from "../support/processes/embedded-processes.ts";
import { startFaultTraffic } from "../support/faults/traffic.ts";
import { verifyDeliveries } from "../support/faults/delivery-checks.ts";
import { eventually, failEveryThird, readinessStatus } from "../support/faults/change-load.ts";
import { openFaultFixture } from "../support/faults/webhook.fixture.ts";

vi.setConfig({ testTimeout: 120_000, hookTimeout: 60_000 });

/** Of the driver, so that it notices quickly what becomes of MongoDB. */
const NOTICING = "heartbeatFrequencyMS=500&connectTimeoutMS=1000&serverSelectionTimeoutMS=1000";

let dataDir: string;
let mongo: EmbeddedMongo;
beforeAll(async () => {
  dataDir = await makeFolder();
  const binary = inject("mongodBinary");
  mongo = openEmbeddedMongo({ dataDir, binary, cacheDir: dataDir, download: false });
});
afterAll(async () => {
  await mongo[Symbol.asyncDispose]();
  await stopAndRemoveAll();
});

/** An API and a worker, with callers, a subscriber, and receivers that must be asked again. */
async function openTraffic() {
  const world = await openFaultFixture({ mongoUrl: `${await mongo.url}&${NOTICING}` });
  await world.addEndpoint({ respond: failEveryThird() });
  const healthy = await world.addEndpoint({ owner: world.contractor });
  const numbers = await world.addJobs(5, "assigned");
  const [api, worker] = await Promise.all([world.startServer("api"), world.startServer("worker")]);
  const traffic = await startFaultTraffic(world, api, numbers);
  await traffic.waitForSuccesses();
  /** With MongoDB away: callers are served, and first attempts go out. */
  const expectToGoOn = async (): Promise<void> => {
    await eventually(async () => expect(await readinessStatus(worker)).toBe(503));
    const before = healthy.received().length;
    await traffic.waitForSuccesses();
    await eventually(() => expect(healthy.received().length).toBeGreaterThan(before + 5));
    expect(await readinessStatus(api)).toBe(200);
  };
  const expectToRecover = async (): Promise<void> => {
    await eventually(async () => expect(await readinessStatus(worker)).toBe(200));
    await traffic.waitForSuccesses();
    expect(traffic.rejectedCount()).toBe(0);
    await traffic.stopAndVerify();
    await verifyDeliveries(world, { duplicates: 0 });
  };
  return { expectToGoOn, expectToRecover };
}

// evidence: mongo-suspended-first-attempts-sent
it("suspended: callers are served, first attempts go out, and the others when it wakes up", async () => {
  const { expectToGoOn, expectToRecover } = await openTraffic();
  const pid = await mongodPid(dataDir);
  process.kill(pid, "SIGSTOP");
  onTestFinished(() => void process.kill(pid, "SIGCONT"));
  await expectToGoOn();
  process.kill(pid, "SIGCONT");
  await expectToRecover();
});

// evidence: mongo-without-primary
it("without a primary: callers are served, first attempts go out, and the others when one is elected", async () => {
  const { expectToGoOn, expectToRecover } = await openTraffic();
  await using client = new MongoClient(await mongo.url, { directConnection: true });
  const admin = client.db("admin");
  await admin.command({ replSetStepDown: 600, secondaryCatchUpPeriodSecs: 0, force: true });
  await expectToGoOn();
  // The only member of its set stands for election at once.
  await admin.command({ replSetFreeze: 0 });
  await expectToRecover();
});
