/** PostgreSQL is restarted and crashes under load: what it had committed is delivered, what was sent is recorded once. */
import { expect, it, onTestFinished, vi } from "vitest";
import { openEmbeddedPostgres } from "../../src/embedded/postgres.ts";
import { cleanUp, makeFolder, postmasterPid } from "../support/embedded-processes.ts";
import { checkDelivered } from "../support/webhook-faults.check.ts";
import { eventually, readiness } from "../support/webhook-faults.load.ts";
import { giveUpLostLeases, startBoth } from "../support/webhook-faults.postgres.ts";
import { openFaultWorld } from "../support/webhook-faults.ts";

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
