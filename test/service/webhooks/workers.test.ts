/** Several dispatchers that share work, die, stop or lose PostgreSQL: each delivery is sent and recorded. */
import pg from "pg";
import { expect, it } from "vitest";
import { sql } from "../../../src/core/postgres/sql.ts";
import { INITIAL_WINDOW } from "../../../src/webhooks/dispatcher/endpoint-states.ts";
import {
  claimDue,
  type ClaimResult,
} from "../../../src/webhooks/dispatcher/claim-due-and-record-attempts.sql.ts";
import { startFaultProxy } from "../../support/database/fault-proxy.ts";
import { startTestReceiver, type TestReceiver } from "../../support/webhooks/receiver.ts";
import { claimRequest, useDispatcherFixture } from "../../support/webhooks/dispatcher.fixture.ts";

const rig = useDispatcherFixture();
/** The attempts do not time out while the test holds the responses back. */
const PATIENT = { totalMs: 60_000 };
const idsOf = ({ received }: TestReceiver) => received.map(({ headers }) => headers["webhook-id"]);

it("two workers share a backlog and send each delivery once", async () => {
  const { promise: released, resolve: release } = Promise.withResolvers<object>();
  await using receiver = await startTestReceiver({ respond: () => released });
  const endpoints = await Promise.all(
    Array.from({ length: 20 }, () => rig.createEndpoint({ url: receiver.url })),
  );
  await rig.createJobs(30);
  const workers = [await rig.startDispatcher(PATIENT), await rig.startDispatcher(PATIENT)];
  for (const worker of workers) {
    worker.endpoints.setWorkerCount(2);
    worker.wake();
  }
  // The receiver does not respond before both have deliveries in flight.
  await expect.poll(() => Math.min(...workers.map(({ deliveries }) => deliveries.size))).toBeGreaterThan(0);
  release({});
  await receiver.waitFor(600);
  for (const id of endpoints) await rig.waitForStatus(id, "delivered");
  expect(receiver.received).toHaveLength(600);
  for (const worker of workers) await worker[Symbol.asyncDispose]();
  for (const id of endpoints) await rig.deleteEndpoint(id);
});

it("an expired lease goes to another worker, and the late result of the first is ignored", async () => {
  const replies: ((status: number) => void)[] = [];
  await using receiver = await startTestReceiver({
    respond: () =>
      receiver.received.length > 1
        ? {}
        : new Promise((resolve) => replies.push((status) => resolve({ status }))),
  });
  const endpointId = await rig.createEndpoint({ url: receiver.url });
  await rig.createJobs(1);
  await using slow = await rig.startDispatcher(PATIENT);
  slow.wake();
  await receiver.waitFor(1);

  // As if the lease had expired.
  await rig.app.database.query(
    sql`update webhook_delivery set due_at = now() - interval '1 s' where endpoint_id = ${endpointId}`,
  );
  await using quick = await rig.startDispatcher();
  await rig.sweep(quick);
  const [delivered] = await rig.waitForStatus(endpointId, "delivered");
  expect(await quick.reclaimed()).toBe(1);

  for (const reply of replies) reply(500);
  const attempts = () =>
    rig.app.database.query(
      sql`select number, outcome from webhook_attempt where delivery_id = ${delivered?.id} order by number`,
    );
  await expect.poll(attempts).toEqual([
    { number: 1, outcome: "http_500" },
    { number: 2, outcome: "delivered" },
  ]);
  expect(await rig.deliveries(endpointId)).toMatchObject([{ status: "delivered", attempts: 2 }]);
  await rig.deleteEndpoint(endpointId);
});

it("a stopping worker sends and records its leased deliveries and leases no more", async () => {
  const replies: (() => void)[] = [];
  await using receiver = await startTestReceiver({
    respond: () => new Promise((resolve) => replies.push(() => resolve({}))),
  });
  const endpointId = await rig.createEndpoint({ url: receiver.url });
  await rig.createJobs(20);
  const worker = await rig.startDispatcher();
  worker.wake();
  await receiver.waitFor(INITIAL_WINDOW);
  const stopped = worker[Symbol.asyncDispose]();
  for (const reply of replies) reply();
  await stopped;
  const rows = await rig.deliveries(endpointId);
  expect(rows.filter(({ status }) => status === "delivered")).toHaveLength(INITIAL_WINDOW);
  expect(rows.filter(({ status, attempts }) => status === "pending" && attempts === 0)).toHaveLength(18);
  expect(receiver.received).toHaveLength(INITIAL_WINDOW);
  await rig.deleteEndpoint(endpointId);
});

it("results are kept while PostgreSQL is unavailable and recorded later", async () => {
  await using proxy = await startFaultProxy(rig.app.databaseUrl);
  const replies: (() => void)[] = [];
  await using receiver = await startTestReceiver({
    respond: () =>
      receiver.received.length > INITIAL_WINDOW
        ? {}
        : new Promise((resolve) => replies.push(() => resolve({}))),
  });
  const endpointId = await rig.createEndpoint({ url: receiver.url });
  await rig.createJobs(10);
  await using worker = await rig.startDispatcher({ ...PATIENT, databaseUrl: proxy.url });
  worker.wake();
  await receiver.waitFor(INITIAL_WINDOW);
  proxy.disconnect();
  for (const reply of replies) reply();
  await expect.poll(() => worker.deliveries.size).toBe(0);
  expect((await rig.deliveries(endpointId)).every(({ status }) => status === "pending")).toBe(true);
  proxy.restore();
  await rig.waitForStatus(endpointId, "delivered");
  expect(new Set(idsOf(receiver)).size).toBe(10);
  expect(receiver.received).toHaveLength(10);
  await rig.deleteEndpoint(endpointId);
});

it("hanging endpoints do not delay others", async () => {
  const replies: (() => void)[] = [];
  await using hanging = await startTestReceiver({
    respond: () => new Promise((resolve) => replies.push(() => resolve({}))),
  });
  await using healthy = await startTestReceiver();
  const stuck = await Promise.all([1, 2].map(() => rig.createEndpoint({ url: hanging.url })));
  const well = await Promise.all(Array.from({ length: 48 }, () => rig.createEndpoint({ url: healthy.url })));
  await rig.createJobs(10);
  await using worker = await rig.startDispatcher(PATIENT);
  worker.wake();
  await healthy.waitFor(48 * 10);
  // An endpoint that has never responded gets only the initial window.
  expect(hanging.received.length).toBeLessThanOrEqual(2 * INITIAL_WINDOW);
  for (const id of [...stuck, ...well]) await rig.deleteEndpoint(id);
  for (const reply of replies) reply();
});

it("endpoints are served in turn if there are more deliveries than slots", async () => {
  const owner = await rig.app.createOrganization("agent");
  const endpoints: string[] = [];
  for (let n = 0; n < 30; n += 1)
    endpoints.push(await rig.createEndpoint({ url: "http://127.0.0.1:9/" }, owner));
  await rig.createJobs(5, owner);
  const served = new Set<string>();
  let cursor: string | null = null;
  // Thirty endpoints with two deliveries each and ten slots: six claims.
  for (let turn = 1; turn <= 6; turn += 1) {
    const request = claimRequest({ freeSlots: 10, maxFirstAttempts: 10, maxPerPartner: 100, cursor });
    const answer: ClaimResult = await claimDue(rig.app.database, request);
    for (const { endpointId } of answer.leases) served.add(endpointId);
    cursor = answer.cursor;
    expect(served.size).toBe(turn * 5);
  }
  expect(served).toEqual(new Set(endpoints));
  for (const id of endpoints) await rig.deleteEndpoint(id);
});

it("events of a transaction that commits late are delivered late, and none is lost", async () => {
  await using receiver = await startTestReceiver();
  const endpointId = await rig.createEndpoint({ url: receiver.url });
  const [early, late] = await rig.createJobs(2);
  await using worker = await rig.startDispatcher();
  worker.wake();
  await rig.waitForStatus(endpointId, "delivered");

  const change = (number: string | undefined, client: Pick<pg.Client, "query">) =>
    client.query(
      `with event as (
         insert into job_event (id, type, job_id, agent_id, sequence, actor_type, changes, job)
         select gen_random_uuid(), 'job.updated', id, agent_id, version + 1, 'system', '{}', to_jsonb(job)
         from job where marking_number = $1 returning id, job_id)
       insert into webhook_delivery (id, endpoint_id, event_id, event_type, job_id)
       select (overlay(gen_random_uuid()::text placing (select left(max(id::text), 13) from webhook_delivery) from 1))::uuid,
         $2, id, 'job.updated', job_id from event`,
      [number, endpointId],
    );
  const open = new pg.Client(rig.app.databaseUrl);
  const quick = new pg.Client(rig.app.databaseUrl);
  await Promise.all([open.connect(), quick.connect()]);
  await open.query("begin");
  await change(early, open);
  await change(late, quick);
  worker.wake();
  await receiver.waitFor(3);
  await open.query("commit");
  worker.wake();
  await receiver.waitFor(4);
  await Promise.all([open.end(), quick.end()]);
  const rows = await rig.waitForStatus(endpointId, "delivered");
  expect(rows).toHaveLength(4);
  await rig.deleteEndpoint(endpointId);
});
