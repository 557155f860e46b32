/** A worker is killed before it records, or suspended: another takes over, and no result is lost or overwritten. */
import { expect, it, vi } from "vitest";
import { sql } from "../../../src/core/postgres/sql.ts";
import { startFaultProxy } from "../../support/database/fault-proxy.ts";
import { verifyDeliveries, expireLeases, warmUp } from "../../support/faults/delivery-checks.ts";
import { createResponseGate, sumMetric } from "../../support/faults/change-load.ts";
import { eventually } from "../../support/eventually.ts";
import { openFaultFixture, type FaultFixture } from "../../support/faults/webhook.fixture.ts";

vi.setConfig({ testTimeout: 150_000 });

const stateOf = (fixture: FaultFixture) =>
  fixture.database.query<{ status: string; attempts: number; finished_at: string | null }>(
    sql`select id, status, attempts, outcome, finished_at from webhook_delivery order by id`,
  );

const attemptsOf = (fixture: FaultFixture): Promise<object[]> =>
  fixture.database.query(sql`select from webhook_attempt`);

it("deliveries that succeeded but were not recorded before the kill are sent once more", async () => {
  const fixture = await openFaultFixture();
  const proxy = await startFaultProxy(fixture.databaseUrl);
  await using _ = proxy;
  const gate = createResponseGate();
  for (let count = 0; count < 4; count += 1) await fixture.addEndpoint({ respond: gate.respond });
  const killed = await fixture.startServer("worker", { DATABASE_URL: proxy.url });
  await warmUp(fixture);
  const delivered = await stateOf(fixture);
  gate.block();
  await fixture.addJobs(4);
  fixture.notifyWorkers();
  await eventually(() => expect(gate.blockedCount()).toBe(16));
  proxy.stall();
  gate.release();
  const acknowledged = (): Promise<number> =>
    sumMetric(killed, "waymark_webhook_attempt_duration_seconds_count", 'outcome="delivered"');
  await eventually(async () => expect(await acknowledged()).toBe(delivered.length + 16));
  await killed.kill("SIGKILL");
  const pending = (await stateOf(fixture)).filter(({ status }) => status === "pending");
  expect(pending.map(({ attempts }) => attempts)).toEqual(Array.from({ length: 16 }, () => 1));

  expect(await expireLeases(fixture)).toBe(16);
  await fixture.startServer("worker");
  const { duplicates } = await verifyDeliveries(fixture, { duplicates: 16 });
  expect(duplicates).toBe(16);
});

// evidence: worker-suspended-past-lease
it("a worker suspended past its leases does not overwrite the results of another", async () => {
  const fixture = await openFaultFixture();
  const gate = createResponseGate();
  await fixture.addEndpoint({ respond: gate.respond });
  await fixture.addEndpoint({ respond: gate.respond });
  const suspended = await fixture.startServer("worker");
  await warmUp(fixture);
  const onRecord = (await attemptsOf(fixture)).length;
  gate.block();
  await fixture.addJobs(4);
  fixture.notifyWorkers();
  await eventually(() => expect(gate.blockedCount()).toBe(8));
  process.kill(suspended.pid, "SIGSTOP");
  gate.passNew();
  expect(await expireLeases(fixture)).toBe(8);
  await fixture.startServer("worker");
  expect((await verifyDeliveries(fixture, { duplicates: 8 })).duplicates).toBe(8);
  const before = await stateOf(fixture);

  // The suspended worker gets successes and failures, all after its leases expired.
  gate.release((index) => ({ status: index % 2 === 0 ? 200 : 500 }));
  process.kill(suspended.pid, "SIGCONT");
  await eventually(async () => expect(await attemptsOf(fixture)).toHaveLength(onRecord + 16));
  expect(await stateOf(fixture)).toEqual(before);

  // Both workers continue, and the late results do not affect the endpoints' state.
  await fixture.addJobs(4);
  fixture.notifyWorkers();
  await verifyDeliveries(fixture, { duplicates: 8 });
  const isFailing = sql`select from webhook_endpoint where failing_since is not null or blocked_until is not null`;
  await eventually(async () => expect(await fixture.database.query(isFailing)).toEqual([]));
});
