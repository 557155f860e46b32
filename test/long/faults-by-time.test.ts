/** Leases, locks and timeouts that expire, some of them in real time. */
import { MongoClient } from "mongodb";
import { expect, it } from "vitest";
import { sql } from "../../src/core/postgres/sql.ts";
import { TASKS_COLLECTION } from "../../src/scheduling/task.ts";
import { startFaultTraffic } from "../support/faults/traffic.ts";
import {
  readMetric,
  openAuthenticatedWebSocket,
  openRawWebSocket,
} from "../support/graphql/subscription-client.ts";
import { startServerProcess } from "../support/processes/server-process.ts";
import { startTestApp } from "../support/app/app.fixture.ts";
import { expireLeases, verifyDeliveries, warmUp } from "../support/faults/delivery-checks.ts";
import { createResponseGate, sumMetric } from "../support/faults/change-load.ts";
import { eventually } from "../support/eventually.ts";
import { openFaultFixture, type FaultFixture } from "../support/faults/webhook.fixture.ts";

// evidence: worker-killed-lease-expires
it("the deliveries of a killed worker are sent after its leases expire, within half a minute", async () => {
  const fixture = await openFaultFixture();
  const gate = createResponseGate();
  await fixture.addEndpoint({ respond: gate.respond });
  const doomed = await fixture.startServer("worker");
  gate.block();
  await fixture.addJobs(2);
  fixture.notifyWorkers();
  await eventually(() => expect(gate.blockedCount()).toBe(2));
  await doomed.kill("SIGKILL");
  gate.release();
  const successor = await fixture.startServer("worker");
  const { duplicates } = await verifyDeliveries(fixture, { duplicates: 2 });
  expect(duplicates).toBe(2);
  expect(await sumMetric(successor, "waymark_webhook_leases_reclaimed_total")).toBe(2);
});

const stateOf = (fixture: FaultFixture): Promise<object[]> =>
  fixture.database.query(
    sql`select id, status, attempts, outcome, finished_at from webhook_delivery order by id`,
  );

const attemptsOf = (fixture: FaultFixture): Promise<object[]> =>
  fixture.database.query(sql`select from webhook_attempt`);

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

// evidence: mongo-data-lost-sweep
it("retries are found by the sweep, and no request is rejected, after MongoDB lost its data", async () => {
  const fixture = await openFaultFixture({ schedule: "0s,20s,1s,1s" });
  const endpoint = await fixture.addEndpoint({ respond: () => ({ status: 503 }) });
  const [api] = await Promise.all([fixture.startServer("api"), fixture.startServer("worker")]);
  const numbers = await fixture.addJobs(5);
  fixture.notifyWorkers();
  await eventually(async () => {
    const waiting = await fixture.database.query(sql`
      select from webhook_delivery where status = 'pending' and attempts = 1 and lease_token is null`);
    expect(waiting).toHaveLength(5);
  });
  endpoint.respond = () => ({});
  await using client = new MongoClient(fixture.mongoUrl);
  const jobs = client.db().collection(TASKS_COLLECTION);
  const waitingRetries = () => jobs.countDocuments({ name: "webhooks.retry" });
  await eventually(async () => expect(await waitingRetries()).toBeGreaterThan(0));
  const traffic = await startFaultTraffic(fixture, api, numbers);
  await traffic.waitForSuccesses();
  expect(await waitingRetries()).toBeGreaterThan(0);
  await client.db().dropDatabase();
  await traffic.waitForSuccesses(10);
  expect(traffic.rejectedAnswers).toEqual([]);
  await traffic.stopAndVerify();
  await verifyDeliveries(fixture, { duplicates: 0 });
  await eventually(async () => expect(await jobs.countDocuments({ name: "webhooks.sweep" })).toBe(1));
});

it("sockets of unauthenticated and vanished clients are closed after their timeouts", async () => {
  await using app = await startTestApp();
  const agent = await app.createOrganization("agent");
  await using server = await startServerProcess({
    DATABASE_URL: app.databaseUrl,
    WAYMARK_ROLE: "api",
    LOG_LEVEL: "warn",
  });
  await server.waitUntilReady();
  const unauthenticated = await openRawWebSocket(server);
  const gone = await openAuthenticatedWebSocket(server, agent.key);
  gone.socket.pause();
  expect(await readMetric(server, "waymark_websocket_connections")).toBe(2);
  expect(await unauthenticated.closed).toMatchObject({ code: 4408 });
  await eventually(async () => expect(await readMetric(server, "waymark_websocket_connections")).toBe(0));
});
