/** PostgreSQL goes away under load and comes back: what it had committed is delivered, what was sent is recorded once. */
import { expect, it, onTestFinished, vi } from "vitest";
import { openEmbeddedPostgres } from "../../src/embedded/postgres.ts";
import { startCuttableProxy } from "../support/cuttable-proxy.ts";
import { cleanUp, makeFolder, postmasterPid } from "../support/embedded-processes.ts";
import type { ServerProcess } from "../support/server-process.ts";
import { checkDelivered, expireLeases } from "../support/webhook-faults.check.ts";
import { eventually, metricOf, readiness, startLoad } from "../support/webhook-faults.load.ts";
import { openFaultWorld, patchWeight, type FaultWorld } from "../support/webhook-faults.ts";

vi.setConfig({ testTimeout: 180_000, hookTimeout: 60_000 });

async function openOwnPostgres() {
  onTestFinished(cleanUp);
  const dataDir = await makeFolder();
  const postgres = await openEmbeddedPostgres({ dataDir, exclusive: true });
  onTestFinished(() => postgres[Symbol.asyncDispose]());
  const world = await openFaultWorld({ databaseUrl: postgres.url });
  const end = async (signal: "SIGINT" | "SIGQUIT"): Promise<void> => {
    const pid = await postmasterPid(dataDir);
    process.kill(pid, signal);
    // Whoever holds the data folder starts it again.
    await eventually(async () => expect(await postmasterPid(dataDir)).not.toBe(pid));
  };
  return { world, url: postgres.url, end };
}

it("restarted under load: nothing is lost, and nothing comes twice", async () => {
  const { world, url, end } = await openOwnPostgres();
  const { api, worker, load } = await startBoth(world, url);
  for (let restart = 0; restart < 2; restart += 1) {
    await load.more(30);
    await end("SIGINT");
  }
  await load.more(30);
  await load.stop();
  await checkDelivered(world, { duplicates: await giveUpLostLeases(world, worker) });
  expect(await readiness(api)).toBe(200);
});

/** A worker waits for no disk, and PostgreSQL writes within three times 200 ms what nobody waits for. */
const FORGOTTEN_MS = 600;

it("crashed under load: nothing is lost, and only what was sent in the last moment may come twice", async () => {
  const { world, url, end } = await openOwnPostgres();
  const { api, worker, load } = await startBoth(world, url);
  await load.more(40);
  const crashedAtMs = Date.now();
  await end("SIGQUIT");
  await load.more(40);
  await load.stop();
  const lost = await giveUpLostLeases(world, worker);
  const sentLast = world.receiver.received.filter(
    ({ atMs }) => atMs > crashedAtMs - FORGOTTEN_MS && atMs <= crashedAtMs,
  );
  const inFlight = world.endpoints.reduce((sum, { maxInFlight }) => sum + maxInFlight, 0);
  await checkDelivered(world, { duplicates: sentLast.length + inFlight + lost, mayHaveForgotten: true });
  expect(await readiness(api)).toBe(200);
});

it("cut off again and again under load: nothing is lost, and nothing comes twice", async () => {
  const world = await openFaultWorld();
  const proxy = await startCuttableProxy(world.databaseUrl);
  onTestFinished(() => proxy[Symbol.asyncDispose]());
  const { api, worker, load } = await startBoth(world, proxy.url);
  for (let cut = 0; cut < 4; cut += 1) {
    await load.more(15);
    proxy.cut();
    await eventually(async () => expect([await readiness(api), await readiness(worker)]).toEqual([503, 503]));
    expect(await patchWeight(api, world.agent, "any", 1)).toBe(false);
    proxy.mend();
  }
  await load.more(15);
  await load.stop();
  await checkDelivered(world, { duplicates: await giveUpLostLeases(world, worker) });
});

async function startBoth(world: FaultWorld, url: string) {
  await world.addEndpoint();
  await world.addEndpoint({ maxInFlight: 1 });
  await world.addEndpoint({ owner: world.contractor });
  const numbers = await world.addJobs(6, "assigned");
  const [api, worker] = await Promise.all([
    world.start("api", { DATABASE_URL: url }),
    world.start("worker", { DATABASE_URL: url }),
  ]);
  const load = startLoad(numbers, (number, weight) => patchWeight(api, world.agent, number, weight));
  return { api, worker, load };
}

/**
 * A claim whose answer was lost on its way is nobody's until its lease runs out: it is not waited for here. Answers with
 * how many of them there were; only what the worker had sent and not yet recorded may come twice.
 */
async function giveUpLostLeases(world: FaultWorld, worker: ServerProcess): Promise<number> {
  const inFlight = (): Promise<number> => metricOf(worker, "waymark_webhook_in_flight");
  await eventually(async () => expect(await inFlight()).toBe(0));
  return expireLeases(world);
}
