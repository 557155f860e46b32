/** MongoDB, which only stores task schedules, is killed: requests are not affected, and retries are sent later. */
import { expect, inject, it, onTestFinished, vi } from "vitest";
import { openEmbeddedMongo } from "../../../src/dev/mongo/embedded-mongo.ts";
import { stopAndRemoveAll, makeFolder, mongodPid } from "../../support/processes/embedded-processes.ts";
import { startFaultTraffic } from "../../support/faults/traffic.ts";
import { verifyDeliveries } from "../../support/faults/delivery-checks.ts";
import { failEveryThird, readinessStatus } from "../../support/faults/change-load.ts";
import { eventually } from "../../support/eventually.ts";
import { openFaultFixture } from "../../support/faults/webhook.fixture.ts";

vi.setConfig({ testTimeout: 180_000 });

// evidence: mongo-killed-retries-kept
it("rejects no request and sends every retry although MongoDB is killed and restarted", async () => {
  onTestFinished(stopAndRemoveAll);
  const dataDir = await makeFolder();
  const binary = inject("mongodBinary");
  const mongo = openEmbeddedMongo({ dataDir, binary, cacheDir: dataDir, download: "off" });
  onTestFinished(() => mongo[Symbol.asyncDispose]());
  const fixture = await openFaultFixture({ mongoUrl: await mongo.url });
  await fixture.addEndpoint({ respond: failEveryThird() });
  await fixture.addEndpoint({ respond: failEveryThird() });
  const numbers = await fixture.addJobs(5);
  const server = await fixture.startServer("all");
  const traffic = await startFaultTraffic(fixture, server, numbers);
  await traffic.waitForSuccesses();
  const pid = await mongodPid(dataDir);
  process.kill(pid, "SIGKILL");
  await traffic.waitForSuccesses();
  // The process that holds the data folder restarts MongoDB.
  await eventually(async () => expect([0, pid]).not.toContain(await mongodPid(dataDir)));
  await eventually(async () => expect(await readinessStatus(server)).toBe(200));
  await traffic.waitForSuccesses();
  expect(traffic.rejectedAnswers).toEqual([]);
  await traffic.stopAndVerify();
  await verifyDeliveries(fixture, { duplicates: 0 });
});
