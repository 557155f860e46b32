/**
 * PostgreSQL is restarted, is cut off and crashes under load, and nobody lends a hand: what it had committed is delivered,
 * what was sent is recorded once.
 */
import { expect, it, onTestFinished, vi } from "vitest";
import { openEmbeddedPostgres } from "../../src/embedded/postgres.ts";
import { toTypedId } from "../../src/platform/ids.ts";
import { sql } from "../../src/platform/sql.ts";
import { startCuttableProxy } from "../support/cuttable-proxy.ts";
import { cleanUp, makeFolder, postmasterPid } from "../support/embedded-processes.ts";
import { checkDelivered } from "../support/webhook-faults.check.ts";
import { eventually, metricOf, readiness } from "../support/webhook-faults.load.ts";
import { sentInDoubt, startBoth } from "../support/webhook-faults.postgres.ts";
import { openFaultWorld, type FaultWorld } from "../support/webhook-faults.ts";

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

// evidence: postgres-restart-under-load
it("restarted under load: nothing is lost, and nothing comes twice", async () => {
  const { world, url, end } = await openOwnPostgres();
  const { api, load } = await startBoth(world, url);
  for (let restart = 0; restart < 2; restart += 1) {
    await load.more(30);
    await end("SIGINT");
  }
  await load.more(30);
  await load.stop();
  await checkDelivered(world, { duplicates: 0 });
  expect(await readiness(api)).toBe(200);
});

const ANSWER_TAKES_MS = 2_000;

/** Whether something was claimed so long ago that it would have been sent, had the claim been answered at once. */
async function waitsForItsAnswer({ database, endpoints }: FaultWorld): Promise<boolean> {
  const claimed = await database.query<{ endpoint_id: string; event_id: string }>(sql`
    select endpoint_id, event_id from webhook_delivery where status = 'pending' and lease_token is not null
      and due_at between clock_timestamp() + interval '28.5 s' and clock_timestamp() + interval '29.5 s'`);
  return claimed.some(({ endpoint_id: id, event_id: eventId }) => {
    const received = endpoints.find((endpoint) => endpoint.id === id)?.received() ?? [];
    return !received.some(({ headers }) => headers["webhook-id"] === toTypedId("evt", eventId));
  });
}

// evidence: postgres-cut-off-claims-wait-for-lease
it("cut off under load: what was claimed meanwhile waits for its lease to run out, and nothing comes twice", async () => {
  const world = await openFaultWorld();
  const proxy = await startCuttableProxy(world.databaseUrl);
  onTestFinished(() => proxy[Symbol.asyncDispose]());
  const { api, worker, load } = await startBoth(world, proxy.url);
  await load.more(15);
  // So that the answer to a claim is on its way when the connection breaks.
  proxy.slow(ANSWER_TAKES_MS);
  await eventually(async () => expect(await waitsForItsAnswer(world)).toBe(true));
  proxy.cut();
  proxy.slow(0);
  await eventually(async () => expect([await readiness(api), await readiness(worker)]).toEqual([503, 503]));
  proxy.mend();
  await load.more(15);
  await load.stop();
  await checkDelivered(world, { duplicates: 0 });
  expect(await metricOf(worker, "waymark_webhook_leases_reclaimed_total")).toBeGreaterThan(0);
  expect([await readiness(api), await readiness(worker)]).toEqual([200, 200]);
});

// evidence: postgres-crash-under-load
it("crashed under load: nothing is lost, and only what was sent in the last moment may come twice", async () => {
  const { world, url, end } = await openOwnPostgres();
  const { api, load } = await startBoth(world, url);
  await load.more(40);
  const fromMs = Date.now();
  await end("SIGQUIT");
  const untilMs = Date.now();
  await load.more(40);
  await load.stop();
  const duplicates = await sentInDoubt(world, { fromMs, untilMs });
  await checkDelivered(world, { duplicates, mayHaveForgotten: true });
  expect(await readiness(api)).toBe(200);
});
