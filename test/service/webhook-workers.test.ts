/** Dispatchers beside each other, dying, stopping and cut off: each delivery arrives, and is recorded once. */
import pg from "pg";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { sql } from "../../src/platform/sql.ts";
import { FIRST_TRUSTED } from "../../src/webhooks/dispatcher.endpoints.ts";
import { takeTurn, type TurnAnswer } from "../../src/webhooks/dispatcher.turn.ts";
import { startCuttableProxy } from "../support/cuttable-proxy.ts";
import { startReceiver, type Receiver } from "../support/webhook-receiver.ts";
import { startRig, type WebhookRig } from "../support/webhook-rig.ts";

let rig: WebhookRig;
beforeAll(async () => {
  rig = await startRig();
});
afterAll(() => rig[Symbol.asyncDispose]());

const jobs = (count: number) =>
  rig.app.jobs(
    rig.agent,
    Array.from({ length: count }, () => ({})),
  );
const forget = (endpointId: string) =>
  rig.app.database.query(sql`update webhook_endpoint set deleted_at = now() where id = ${endpointId}`);
const idsOf = ({ received }: Receiver) => received.map(({ headers }) => headers["webhook-id"]);

it("two workers share a backlog: each delivery is sent once, and both send", async () => {
  await using receiver = await startReceiver();
  const endpoints = await Promise.all(Array.from({ length: 20 }, () => rig.endpoint({ url: receiver.url })));
  await jobs(30);
  const workers = [await rig.dispatcher(), await rig.dispatcher()];
  const sent = workers.map(() => 0);
  for (const worker of workers) {
    worker.share(2);
    worker.poke();
  }
  const watch = setInterval(() => {
    for (const [at, worker] of workers.entries()) sent[at] = Math.max(sent[at] as number, worker.inFlight());
  }, 1);
  await Promise.all(endpoints.map((id) => rig.all(id, "delivered")));
  clearInterval(watch);
  expect(receiver.received).toHaveLength(600);
  expect(Math.min(...sent)).toBeGreaterThan(0);
  for (const worker of workers) await worker[Symbol.asyncDispose]();
  for (const id of endpoints) await forget(id);
});

it("a lease that ran out is another worker's; the one who had it changes nothing when it comes back", async () => {
  const replies: ((status: number) => void)[] = [];
  await using receiver = await startReceiver({
    respond: () =>
      receiver.received.length > 1
        ? {}
        : new Promise((resolve) => replies.push((status) => resolve({ status }))),
  });
  const endpointId = await rig.endpoint({ url: receiver.url });
  await jobs(1);
  await using slow = await rig.dispatcher({ totalMs: 60_000 });
  slow.poke();
  await receiver.waitFor(1);

  // As if half a minute had passed.
  await rig.app.database.query(
    sql`update webhook_delivery set due_at = now() - interval '1 s' where endpoint_id = ${endpointId}`,
  );
  await using quick = await rig.dispatcher();
  await rig.sweep(quick);
  const [delivered] = await rig.all(endpointId, "delivered");
  expect(quick.reclaimed.count).toBe(1);

  for (const reply of replies) reply(500);
  await vi.waitFor(async () => {
    const rows = await rig.app.database.query(
      sql`select number, outcome from webhook_attempt where delivery_id = ${delivered?.id} order by number`,
    );
    expect(rows).toEqual([
      { number: 1, outcome: "http_500" },
      { number: 2, outcome: "delivered" },
    ]);
  });
  expect(await rig.deliveries(endpointId)).toMatchObject([{ status: "delivered", attempts: 2 }]);
  await forget(endpointId);
});

it("a worker that stops sends what it has leased, records it, and leases nothing more", async () => {
  const replies: (() => void)[] = [];
  await using receiver = await startReceiver({
    respond: () => new Promise((resolve) => replies.push(() => resolve({}))),
  });
  const endpointId = await rig.endpoint({ url: receiver.url });
  await jobs(20);
  const worker = await rig.dispatcher();
  worker.poke();
  await receiver.waitFor(FIRST_TRUSTED);
  const stopped = worker[Symbol.asyncDispose]();
  for (const reply of replies) reply();
  await stopped;
  const rows = await rig.deliveries(endpointId);
  expect(rows.filter(({ status }) => status === "delivered")).toHaveLength(FIRST_TRUSTED);
  expect(rows.filter(({ status, attempts }) => status === "pending" && attempts === 0)).toHaveLength(18);
  expect(receiver.received).toHaveLength(FIRST_TRUSTED);
  await forget(endpointId);
});

it("PostgreSQL cut off in mid-flight: what was sent is kept, and recorded when it is back", async () => {
  await using proxy = await startCuttableProxy(rig.app.databaseUrl);
  const replies: (() => void)[] = [];
  await using receiver = await startReceiver({
    respond: () =>
      receiver.received.length > FIRST_TRUSTED
        ? {}
        : new Promise((resolve) => replies.push(() => resolve({}))),
  });
  const endpointId = await rig.endpoint({ url: receiver.url });
  await jobs(10);
  await using worker = await rig.dispatcher({ databaseUrl: proxy.url, totalMs: 60_000 });
  worker.poke();
  await receiver.waitFor(FIRST_TRUSTED);
  proxy.cut();
  for (const reply of replies) reply();
  await vi.waitFor(() => expect(worker.inFlight()).toBe(0));
  expect((await rig.deliveries(endpointId)).every(({ status }) => status === "pending")).toBe(true);
  proxy.mend();
  await rig.all(endpointId, "delivered");
  expect(new Set(idsOf(receiver)).size).toBe(10);
  expect(receiver.received).toHaveLength(10);
  await forget(endpointId);
});

it("endpoints that hang hold up nobody else", async () => {
  await using hanging = await startReceiver({ respond: () => new Promise(() => undefined) });
  await using healthy = await startReceiver();
  const stuck = await Promise.all([1, 2].map(() => rig.endpoint({ url: hanging.url })));
  const well = await Promise.all(Array.from({ length: 48 }, () => rig.endpoint({ url: healthy.url })));
  await jobs(10);
  await using worker = await rig.dispatcher({ totalMs: 2_000 });
  worker.poke();
  await healthy.waitFor(48 * 10);
  // An endpoint that has never answered holds no more than it is trusted with.
  expect(hanging.received.length).toBeLessThanOrEqual(2 * FIRST_TRUSTED);
  for (const id of [...stuck, ...well]) await forget(id);
});

it("endpoints take turns where there are more deliveries than slots", async () => {
  const owner = await rig.app.partner("agent");
  const endpoints: string[] = [];
  for (let n = 0; n < 30; n += 1) endpoints.push(await rig.endpoint({ url: "http://127.0.0.1:9/" }, owner));
  await rig.app.jobs(
    owner,
    Array.from({ length: 5 }, () => ({})),
  );
  const served = new Set<string>();
  let cursor: string | null = null;
  // Thirty endpoints, two deliveries each at first, ten slots: six turns.
  for (let turn = 1; turn <= 6; turn += 1) {
    const request = {
      ended: [],
      free: 10,
      firsts: 10,
      again: [],
      allowances: new Map<string, number>(),
      workers: 1,
    };
    const answer: TurnAnswer = await takeTurn(rig.app.database, { ...request, cursor });
    for (const { endpointId } of answer.leases) served.add(endpointId);
    cursor = answer.cursor;
    expect(served.size).toBe(turn * 5);
  }
  expect(served).toEqual(new Set(endpoints));
  for (const id of endpoints) await forget(id);
});

it("what commits late is delivered late, and nothing is lost for what committed before it", async () => {
  await using receiver = await startReceiver();
  const endpointId = await rig.endpoint({ url: receiver.url });
  const [early, late] = await jobs(2);
  await using worker = await rig.dispatcher();
  worker.poke();
  await rig.all(endpointId, "delivered");

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
  worker.poke();
  await receiver.waitFor(3);
  await open.query("commit");
  worker.poke();
  await receiver.waitFor(4);
  await Promise.all([open.end(), quick.end()]);
  const rows = await rig.all(endpointId, "delivered");
  expect(rows).toHaveLength(4);
  await forget(endpointId);
});
