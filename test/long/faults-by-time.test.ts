/** What only time can show: leases, locks and timeouts that run out by themselves. */
import { MongoClient } from "mongodb";
import { expect, it, vi } from "vitest";
import { sql } from "../../src/platform/sql.ts";
import { JOBS_COLLECTION } from "../../src/scheduling/job-document.ts";
import { startTraffic } from "../support/fault-traffic.ts";
import { figure, openKnownSocket, openSocket } from "../support/graphql-live.ts";
import { startServer } from "../support/server-process.ts";
import { startTestApp } from "../support/start-app.ts";
import { checkDelivered, outcomesOf } from "../support/webhook-faults.check.ts";
import { createGate, endless, eventually, firstly, metricOf } from "../support/webhook-faults.load.ts";
import { openFaultWorld } from "../support/webhook-faults.ts";

// evidence: worker-killed-lease-expires
it("a worker that is killed, and whose leases run out by themselves after half a minute", async () => {
  const world = await openFaultWorld();
  const gate = createGate();
  await world.addEndpoint({ respond: gate.respond });
  const doomed = await world.start("worker");
  gate.close();
  await world.addJobs(2);
  world.announce();
  await eventually(() => expect(gate.held()).toBe(2));
  await doomed.kill("SIGKILL");
  gate.open();
  const successor = await world.start("worker");
  const { duplicates } = await checkDelivered(world, { duplicates: 2 });
  expect(duplicates).toBe(2);
  expect(await metricOf(successor, "waymark_webhook_leases_reclaimed_total")).toBe(2);
});

it("a body that drips costs its attempt 15 seconds, and no more", async () => {
  const world = await openFaultWorld();
  const dripping = await world.addEndpoint({ respond: firstly(endless(1, 100)) });
  await world.start("worker");
  await world.addJobs(1);
  world.announce();
  await checkDelivered(world, { duplicates: 0 });
  expect(await outcomesOf(world, dripping)).toEqual(["timeout", "delivered"]);
});

// evidence: mongo-data-lost-sweep
it("MongoDB lost for good, with every retry that waited in it: nobody is refused, and the sweep, which sets itself up again, finds them", async () => {
  const world = await openFaultWorld({ schedule: "0s,20s,1s,1s" });
  const endpoint = await world.addEndpoint({ respond: () => ({ status: 503 }) });
  const [api] = await Promise.all([world.start("api"), world.start("worker")]);
  const numbers = await world.addJobs(5);
  world.announce();
  await eventually(async () => {
    const waiting = await world.database.query(sql`
      select from webhook_delivery where status = 'pending' and attempts = 1 and lease_token is null`);
    expect(waiting).toHaveLength(5);
  });
  endpoint.respond = () => ({});
  await using client = new MongoClient(world.mongoUrl);
  const jobs = client.db().collection(JOBS_COLLECTION);
  const waitingRetries = () => jobs.countDocuments({ name: "webhooks.retry" });
  await eventually(async () => expect(await waitingRetries()).toBeGreaterThan(0));
  const traffic = await startTraffic(world, api, numbers);
  await traffic.succeeds();
  expect(await waitingRetries()).toBeGreaterThan(0);
  await client.db().dropDatabase();
  await traffic.succeeds(10);
  expect(traffic.refused()).toBe(0);
  await traffic.check();
  await checkDelivered(world, { duplicates: 0 });
  await eventually(async () => expect(await jobs.countDocuments({ name: "webhooks.sweep" })).toBe(1));
});

it("who does not say who it is, and who is gone without a word, holds its socket only for so long", async () => {
  await using app = await startTestApp();
  const agent = await app.partner("agent");
  await using server = await startServer({
    DATABASE_URL: app.databaseUrl,
    WAYMARK_ROLE: "api",
    LOG_LEVEL: "warn",
  });
  await server.ready();
  const stranger = await openSocket(server);
  const gone = await openKnownSocket(server, agent.key);
  gone.socket.pause();
  expect(await figure(server, "waymark_subscription_sockets")).toBe(2);
  expect(await stranger.closed).toMatchObject({ code: 4408 });
  await vi.waitFor(async () => expect(await figure(server, "waymark_subscription_sockets")).toBe(0), 60_000);
});
