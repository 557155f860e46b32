/**
 * PostgreSQL is restarted, disconnected and crashes under load: committed changes are delivered and recorded without manual
 * intervention.
 */
import { expect, it, onTestFinished, vi } from "vitest";
import { openEmbeddedPostgres } from "../../src/dev/postgres/embedded-postgres.ts";
import { toTypedId } from "../../src/core/ids.ts";
import { sql } from "../../src/core/postgres/sql.ts";
import { startFaultProxy } from "../support/database/fault-proxy.ts";
import { stopAndRemoveAll, makeFolder, postmasterPid } from "../support/processes/embedded-processes.ts";
import { verifyDeliveries } from "../support/faults/delivery-checks.ts";
import { sumMetric, readinessStatus } from "../support/faults/change-load.ts";
import { eventually } from "../support/eventually.ts";
import { countPossibleDuplicates, startApiAndWorker } from "../support/faults/postgres.fixture.ts";
import { openFaultFixture, type FaultFixture } from "../support/faults/webhook.fixture.ts";

vi.setConfig({ testTimeout: 180_000, hookTimeout: 60_000 });

async function openOwnPostgres() {
  onTestFinished(stopAndRemoveAll);
  const dataDir = await makeFolder();
  const postgres = await openEmbeddedPostgres({ dataDir, exclusive: true });
  onTestFinished(() => postgres[Symbol.asyncDispose]());
  const fixture = await openFaultFixture({ databaseUrl: postgres.url });
  const end = async (signal: "SIGINT" | "SIGQUIT"): Promise<void> => {
    const pid = await postmasterPid(dataDir);
    process.kill(pid, signal);
    // The process that holds the data folder restarts PostgreSQL.
    await eventually(async () => expect(await postmasterPid(dataDir)).not.toBe(pid));
  };
  return { fixture, url: postgres.url, end };
}

// evidence: postgres-restart-under-load
it("a restart of PostgreSQL under load loses and repeats no delivery", async () => {
  const { fixture, url, end } = await openOwnPostgres();
  const { api, load } = await startApiAndWorker(fixture, url);
  for (let restart = 0; restart < 2; restart += 1) {
    await load.waitForMore(30);
    await end("SIGINT");
  }
  await load.waitForMore(30);
  await load.stop();
  await verifyDeliveries(fixture, { duplicates: 0 });
  expect(await readinessStatus(api)).toBe(200);
});

const ANSWER_TAKES_MS = 2_000;

/** True if a delivery was claimed so long ago that the worker cannot have received the claim's result. */
async function hasInFlightAttempt({ database, endpoints }: FaultFixture): Promise<boolean> {
  const claimed = await database.query<{ endpoint_id: string; event_id: string }>(sql`
    select endpoint_id, event_id from webhook_delivery where status = 'pending' and lease_token is not null
      and due_at between clock_timestamp() + interval '28.5 s' and clock_timestamp() + interval '29.5 s'`);
  return claimed.some(({ endpoint_id: id, event_id: eventId }) => {
    const received = endpoints.find((endpoint) => endpoint.id === id)?.received() ?? [];
    return !received.some(({ headers }) => headers["webhook-id"] === toTypedId("evt", eventId));
  });
}

// evidence: postgres-cut-off-claims-wait-for-lease
it("deliveries claimed during a disconnect are sent once, after their leases expire", async () => {
  const fixture = await openFaultFixture();
  const proxy = await startFaultProxy(fixture.databaseUrl);
  onTestFinished(() => proxy[Symbol.asyncDispose]());
  const { api, worker, load } = await startApiAndWorker(fixture, proxy.url);
  await load.waitForMore(15);
  // Delay responses, so that the result of a claim is in transit when the connection breaks.
  proxy.delay(ANSWER_TAKES_MS);
  await eventually(async () => expect(await hasInFlightAttempt(fixture)).toBe(true));
  proxy.disconnect();
  proxy.delay(0);
  await eventually(async () =>
    expect([await readinessStatus(api), await readinessStatus(worker)]).toEqual([503, 503]),
  );
  proxy.restore();
  await load.waitForMore(15);
  await load.stop();
  await verifyDeliveries(fixture, { duplicates: 0 });
  expect(await sumMetric(worker, "waymark_webhook_leases_reclaimed_total")).toBeGreaterThan(0);
  expect([await readinessStatus(api), await readinessStatus(worker)]).toEqual([200, 200]);
});

// evidence: postgres-crash-under-load
it("a crash of PostgreSQL under load loses no delivery, and repeats only the most recent ones", async () => {
  const { fixture, url, end } = await openOwnPostgres();
  const { api, load } = await startApiAndWorker(fixture, url);
  await load.waitForMore(40);
  const fromMs = Date.now();
  await end("SIGQUIT");
  const untilMs = Date.now();
  await load.waitForMore(40);
  await load.stop();
  const duplicates = await countPossibleDuplicates(fixture, { fromMs, untilMs });
  await verifyDeliveries(fixture, { duplicates, allowsLostRecords: true });
  expect(await readinessStatus(api)).toBe(200);
});
