/** MongoDB, which only stores task schedules, hangs or rejects writes under traffic: requests are not affected. */
import { MongoClient } from "mongodb";
import { afterAll, expect, inject, it, onTestFinished, vi } from "vitest";
import { startMongo } from "../../../bench/cluster/databases.ts";
import { openEmbeddedMongo } from "../../../src/dev/mongo/embedded-mongo.ts";
import { stopAndRemoveAll, makeFolder, mongodPid } from "../../support/processes/embedded-processes.ts";
import { startFaultTraffic } from "../../support/faults/traffic.ts";
import { verifyDeliveries } from "../../support/faults/delivery-checks.ts";
import { failEveryThird, readinessStatus } from "../../support/faults/change-load.ts";
import { eventually } from "../../support/eventually.ts";
import { openFaultFixture } from "../../support/faults/webhook.fixture.ts";

vi.setConfig({ testTimeout: 120_000, hookTimeout: 60_000 });

/** Driver options with short timeouts, so that it detects changes of MongoDB quickly. */
const FAST_DETECTION = "heartbeatFrequencyMS=500&connectTimeoutMS=1000&serverSelectionTimeoutMS=1000";

afterAll(stopAndRemoveAll);

/** Starts an API and a worker, with callers, a subscriber, and receivers that need retries. */
async function openTraffic(url: string) {
  const fixture = await openFaultFixture({ mongoUrl: `${url}&${FAST_DETECTION}` });
  await fixture.addEndpoint({ respond: failEveryThird() });
  const healthy = await fixture.addEndpoint({ owner: fixture.contractor });
  const numbers = await fixture.addJobs(5, "assigned");
  const [api, worker] = await Promise.all([fixture.startServer("api"), fixture.startServer("worker")]);
  const traffic = await startFaultTraffic(fixture, api, numbers);
  await traffic.waitForSuccesses();
  /** Checks that requests are served and first attempts sent while MongoDB is unavailable. */
  const expectServiceContinues = async (): Promise<void> => {
    await eventually(async () => expect(await readinessStatus(worker)).toBe(503));
    const before = healthy.received().length;
    await traffic.waitForSuccesses();
    await eventually(() => expect(healthy.received().length).toBeGreaterThan(before + 5));
    expect(await readinessStatus(api)).toBe(200);
  };
  const expectRecovery = async (): Promise<void> => {
    await eventually(async () => expect(await readinessStatus(worker)).toBe(200));
    await traffic.waitForSuccesses();
    expect(traffic.rejectedAnswers).toEqual([]);
    await traffic.stopAndVerify();
    await verifyDeliveries(fixture, { duplicates: 0 });
  };
  return { expectServiceContinues, expectRecovery };
}

// evidence: mongo-suspended-first-attempts-sent
it("serves requests and sends first attempts while MongoDB is suspended, and retries once it resumes", async () => {
  const dataDir = await makeFolder();
  const binary = inject("mongodBinary");
  const mongo = openEmbeddedMongo({ dataDir, binary, cacheDir: dataDir, download: "off" });
  onTestFinished(() => mongo[Symbol.asyncDispose]());
  const { expectServiceContinues, expectRecovery } = await openTraffic(await mongo.url);
  const pid = await mongodPid(dataDir);
  process.kill(pid, "SIGSTOP");
  onTestFinished(() => void process.kill(pid, "SIGCONT"));
  await expectServiceContinues();
  process.kill(pid, "SIGCONT");
  await expectRecovery();
});

// evidence: mongo-without-primary
it("serves requests and sends first attempts while MongoDB has no primary, and retries once it has one", async () => {
  const command = ["mongod", "--replSet=rs0"];
  const mongo = await startMongo({ folder: await makeFolder(), binary: inject("mongodBinary"), command });
  onTestFinished(() => mongo[Symbol.asyncDispose]());
  const { expectServiceContinues, expectRecovery } = await openTraffic(mongo.url);
  const address = mongo.url.replace(/\?.*/, "");
  await using client = new MongoClient(address, { directConnection: true });
  const admin = client.db("admin");
  await admin.command({ replSetStepDown: 600, secondaryCatchUpPeriodSecs: 0, force: true });
  await expectServiceContinues();
  // The only member of the replica set becomes a candidate immediately.
  await admin.command({ replSetFreeze: 0 });
  await expectRecovery();
});
