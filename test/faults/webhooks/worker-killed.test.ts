/** A worker that is killed, or suspended, in the middle of its work: another takes over, and nothing is lost or overwritten. */
import { setTimeout as pause } from "node:timers/promises";
import { expect, it, vi } from "vitest";
import { sql } from "../../../src/platform/postgres/sql.ts";
import { startFaultProxy } from "../../support/database/fault-proxy.ts";
import { verifyDeliveries, expireLeases, warmUp } from "../../support/faults/delivery-checks.ts";
import {
  createResponseGate,
  eventually,
  sumMetric,
  startChangeLoad,
} from "../../support/faults/change-load.ts";
import { openFaultFixture, type FaultFixture } from "../../support/faults/webhook.fixture.ts";

vi.setConfig({ testTimeout: 150_000 });

const lateAnswer = async (): Promise<object> => await pause(20, {});

const stateOf = (world: FaultFixture) =>
  world.database.query<{ status: string; attempts: number; finished_at: string | null }>(
    sql`select id, status, attempts, outcome, finished_at from webhook_delivery order by id`,
  );

const attemptsOf = (world: FaultFixture): Promise<object[]> =>
  world.database.query(sql`select from webhook_attempt`);

// evidence: worker-killed-in-flight-resent
it("killed while receivers hold their answers: what was on its way is sent again, and nothing else", async () => {
  const world = await openFaultFixture();
  const gate = createResponseGate();
  for (let count = 0; count < 4; count += 1) await world.addEndpoint({ respond: gate.respond });
  await world.addEndpoint({ owner: world.contractor, respond: gate.respond });
  await world.addEndpoint({ eventTypes: ["job.assigned"], respond: gate.respond });
  const inFlight = world.endpoints.reduce((sum, { maxInFlight }) => sum + maxInFlight, 0);
  const doomed = await world.startServer("worker");
  await warmUp(world);
  gate.block();
  await world.addJobs(10, "assigned");
  world.notifyWorkers();
  await eventually(() => expect(gate.blockedCount()).toBe(inFlight));
  expect(await doomed.kill("SIGKILL")).toBe("SIGKILL");
  gate.release();

  expect(await expireLeases(world)).toBe(inFlight);
  await world.startServer("worker");
  const { events, duplicates, maxAttempts } = await verifyDeliveries(world, { duplicates: inFlight });
  expect({ events, duplicates, mostAttempts: maxAttempts }).toEqual({
    events: 22,
    duplicates: inFlight,
    mostAttempts: 2,
  });
});

it("killed over and over under load: no more comes twice than may be on its way at once", async () => {
  const world = await openFaultFixture();
  for (let count = 0; count < 3; count += 1) await world.addEndpoint({ respond: lateAnswer });
  const inFlight = world.endpoints.reduce((sum, { maxInFlight }) => sum + maxInFlight, 0);
  const numbers = await world.addJobs(6);
  const load = startChangeLoad(numbers, (number, weight) => world.updateJob(number, weight), 150);
  const kills = 2;
  for (let kill = 0; kill < kills; kill += 1) {
    const before = world.receiver.received.length;
    const doomed = await world.startServer("worker");
    await eventually(() => expect(world.receiver.received.length).toBeGreaterThan(before + 30));
    await doomed.kill("SIGKILL");
    // Whatever the dead one held; nobody else is there to hold any.
    expect(await expireLeases(world)).toBeLessThanOrEqual(inFlight);
  }
  await world.startServer("worker");
  await load.waitForMore(10);
  await load.stop();
  await verifyDeliveries(world, { duplicates: kills * inFlight });
});

it("killed between the receivers' 200 and its record: each of these comes once more", async () => {
  const world = await openFaultFixture();
  const proxy = await startFaultProxy(world.databaseUrl);
  await using _ = proxy;
  const gate = createResponseGate();
  for (let count = 0; count < 4; count += 1) await world.addEndpoint({ respond: gate.respond });
  const doomed = await world.startServer("worker", { DATABASE_URL: proxy.url });
  await warmUp(world);
  const delivered = await stateOf(world);
  gate.block();
  await world.addJobs(4);
  world.notifyWorkers();
  await eventually(() => expect(gate.blockedCount()).toBe(16));
  proxy.stall();
  gate.release();
  const acknowledged = (): Promise<number> =>
    sumMetric(doomed, "waymark_webhook_attempt_duration_seconds_count", 'outcome="delivered"');
  await eventually(async () => expect(await acknowledged()).toBe(delivered.length + 16));
  await doomed.kill("SIGKILL");
  const pending = (await stateOf(world)).filter(({ status }) => status === "pending");
  expect(pending.map(({ attempts }) => attempts)).toEqual(Array.from({ length: 16 }, () => 1));

  expect(await expireLeases(world)).toBe(16);
  await world.startServer("worker");
  const { duplicates } = await verifyDeliveries(world, { duplicates: 16 });
  expect(duplicates).toBe(16);
});

// evidence: worker-suspended-past-lease
it("suspended past its leases: what another delivered meanwhile stays as that one recorded it", async () => {
  const world = await openFaultFixture();
  const gate = createResponseGate();
  await world.addEndpoint({ respond: gate.respond });
  await world.addEndpoint({ respond: gate.respond });
  const sleeper = await world.startServer("worker");
  await warmUp(world);
  const onRecord = (await attemptsOf(world)).length;
  gate.block();
  await world.addJobs(4);
  world.notifyWorkers();
  await eventually(() => expect(gate.blockedCount()).toBe(8));
  process.kill(sleeper.pid, "SIGSTOP");
  gate.passNew();
  expect(await expireLeases(world)).toBe(8);
  await world.startServer("worker");
  expect((await verifyDeliveries(world, { duplicates: 8 })).duplicates).toBe(8);
  const before = await stateOf(world);

  // It learns of successes and of failures, all of them too late.
  gate.release((at) => ({ status: at % 2 === 0 ? 200 : 500 }));
  process.kill(sleeper.pid, "SIGCONT");
  await eventually(async () => expect(await attemptsOf(world)).toHaveLength(onRecord + 16));
  expect(await stateOf(world)).toEqual(before);

  // Both go on, and what the late ones told of the endpoints does not last.
  await world.addJobs(4);
  world.notifyWorkers();
  await verifyDeliveries(world, { duplicates: 8 });
  const isFailing = sql`select from webhook_endpoint where failing_since is not null or blocked_until is not null`;
  await eventually(async () => expect(await world.database.query(isFailing)).toEqual([]));
});
