import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { toEventWire, type EventRow } from "../../src/events/event.wire.ts";
import { AppError } from "../../src/platform/errors.ts";
import { fromTypedId, newUuid, newUuidSql, toTypedId } from "../../src/platform/ids.ts";
import type { Principal } from "../../src/platform/principal.ts";
import { sql } from "../../src/platform/sql.ts";
import { operator } from "../../src/webhooks/caller.ts";
import type { DeliveryFilter } from "../../src/webhooks/delivery.queries.ts";
import type { DeliveryView } from "../../src/webhooks/delivery.view.ts";
import { ensurePartitions } from "../../src/webhooks/partitions.ts";
import { markWaiting } from "../../src/webhooks/restored.service.ts";
import { verify } from "../../src/webhooks/signature.ts";
import { DAY_MS, HOUR_MS } from "../support/fake-clock.ts";
import { startReceiver } from "../support/webhook-receiver.ts";
import { openWebhookServices, type WebhookServices } from "../support/webhook-services.ts";

const URL = "http://127.0.0.1:9/webhooks";

let services: WebhookServices;

beforeAll(async () => {
  services = await openWebhookServices();
});

afterAll(() => services[Symbol.asyncDispose]());

interface Fixture {
  agent: Principal;
  /** Typed, and as stored. */
  id: string;
  uuid: string;
  list: (filter?: DeliveryFilter) => Promise<DeliveryView[]>;
}

/** An agent with one endpoint. */
async function fixture(eventTypes: string[] | null = null): Promise<Fixture> {
  const agent = await services.partner("agent");
  const { endpoint } = await services.endpoints.create(agent, { url: URL, eventTypes });
  return {
    agent,
    id: endpoint.id,
    uuid: fromTypedId("whe", endpoint.id) as string,
    async list(filter = {}) {
      return (await services.deliveries.list(agent, { filter, limit: 200 })).items;
    },
  };
}

/** Ends pending deliveries of an endpoint, as a worker does; `agoMs`: when. */
async function end(
  endpoint: string,
  status: "delivered" | "dead",
  { agoMs = 0, count = 1_000_000 } = {},
): Promise<void> {
  await services.database.query(sql`
    update webhook_delivery set status = ${status}, attempts = 1, finished_at = ${new Date(Date.now() - agoMs)},
      outcome = ${status === "dead" ? "http_500" : "delivered"}
    where status = 'pending' and id in (
      select id from webhook_delivery where endpoint_id = ${endpoint} and status = 'pending' order by id limit ${count})`);
}

async function attempt(deliveryId: string, number: number): Promise<void> {
  await services.database.query(sql`
    insert into webhook_attempt (id, delivery_id, number, started_at, duration_ms, outcome, http_status, error,
      request_headers, response_headers, response_body)
    values (${newUuid()}, ${fromTypedId("dlv", deliveryId)}, ${number}, now(), 12, 'http_500', 500, 'It answered 500.',
      '{"webhook-id": "evt_1", "x-token": "********"}', '{"content-type": "text/plain"}', 'oops')`);
}

describe("list", () => {
  it("shows an organisation's deliveries, newest first, page by page, none twice and none left out", async () => {
    const { agent, id, uuid } = await fixture();
    const { endpoint: second } = await services.endpoints.create(agent, { url: URL });
    for (let at = 0; at < 6; at += 1) {
      await services.job(agent);
      if (at % 2 === 0) await end(uuid, at === 0 ? "dead" : "delivered");
    }
    const seen: DeliveryView[] = [];
    let cursor: string | undefined;
    do {
      const page = await services.deliveries.list(agent, { filter: {}, limit: 5, cursor });
      seen.push(...page.items);
      cursor = page.nextCursor ?? undefined;
    } while (cursor !== undefined);
    expect(seen).toHaveLength(12);
    expect(new Set(seen.map((one) => one.id)).size).toBe(12);
    expect(seen.map((one) => one.id)).toEqual(
      seen
        .map((one) => one.id)
        .toSorted()
        .toReversed(),
    );
    expect(new Set(seen.map((one) => one.endpointId))).toEqual(new Set([id, second.id]));
  });

  it("tells of each what it is of, and how it stands", async () => {
    const { agent, id, uuid, list } = await fixture();
    const markingNumber = await services.job(agent);
    const [waiting] = await list();
    expect(waiting).toEqual({
      id: expect.stringMatching(/^dlv_/),
      endpointId: id,
      eventId: expect.stringMatching(/^evt_/),
      eventType: "job.created",
      jobId: expect.stringMatching(/^job_/),
      markingNumber,
      origin: "event",
      status: "pending",
      attempts: 0,
      outcome: null,
      nextAttemptAt: null,
      isBeingSent: false,
      createdAt: expect.stringMatching(/^\d{4}-.*Z$/),
      finishedAt: null,
    });
    await services.database.query(sql`
      update webhook_delivery set attempts = 2, outcome = 'timeout', due_at = now() + interval '5 min'
      where endpoint_id = ${uuid}`);
    const [retrying] = await list();
    expect(retrying).toMatchObject({ attempts: 2, outcome: "timeout", isBeingSent: false });
    expect(Date.parse(retrying?.nextAttemptAt ?? "")).toBeGreaterThan(Date.now() + 250_000);
    await services.database.query(
      sql`update webhook_delivery set lease_token = ${newUuid()} where endpoint_id = ${uuid}`,
    );
    expect((await list())[0]).toMatchObject({ isBeingSent: true, nextAttemptAt: null });
    await end(uuid, "dead");
    expect((await list())[0]).toMatchObject({
      status: "dead",
      outcome: "http_500",
      nextAttemptAt: null,
      finishedAt: expect.stringMatching(/Z$/),
    });
  });

  it("narrows by endpoint, status, event type, Marking Number and outcome", async () => {
    const { agent, id, uuid, list } = await fixture();
    const contractor = await services.partner("contractor");
    const { endpoint: other } = await services.endpoints.create(agent, {
      url: URL,
      eventTypes: ["job.assigned"],
    });
    const markingNumber = await services.job(agent, contractor);
    await services.job(agent);
    await end(uuid, "dead", { count: 1 });
    expect(await list({ endpointId: id })).toHaveLength(3);
    expect(await list({ endpointId: other.id })).toMatchObject([
      { eventType: "job.assigned", markingNumber },
    ]);
    expect(await list({ status: "dead" })).toMatchObject([{ status: "dead", outcome: "http_500" }]);
    expect(await list({ status: "pending" })).toHaveLength(3);
    expect(await list({ status: "discarded" })).toEqual([]);
    expect(await list({ eventType: "job.assigned" })).toHaveLength(2);
    expect(await list({ markingNumber })).toHaveLength(3);
    expect(await list({ markingNumber: "none such" })).toEqual([]);
    expect(await list({ outcome: "http_500" })).toHaveLength(1);
    expect(await list({ endpointId: id, eventType: "job.created", status: "pending" })).toHaveLength(1);
  });

  it("goes back as far as the log is kept", async () => {
    await using own = await openWebhookServices({ retentionDays: 60 });
    const agent = await own.partner("agent");
    const { endpoint } = await own.endpoints.create(agent, { url: URL });
    for (const ageMs of [60 * DAY_MS + HOUR_MS, 60 * DAY_MS - HOUR_MS])
      await own.database.query(sql`
        insert into webhook_delivery (id, endpoint_id, event_id, event_type, status)
        values (${newUuid(Date.now() - ageMs)}, ${fromTypedId("whe", endpoint.id)}, ${newUuid()}, 'job.updated', 'delivered')`);
    expect((await own.deliveries.list(agent, { filter: {}, limit: 5 })).items).toHaveLength(1);
  });

  it("goes back 30 days", async () => {
    const { uuid, list } = await fixture();
    for (const ageMs of [30 * DAY_MS + HOUR_MS, 30 * DAY_MS - HOUR_MS])
      await services.database.query(sql`
        insert into webhook_delivery (id, endpoint_id, event_id, event_type, status)
        values (${newUuid(Date.now() - ageMs)}, ${uuid}, ${newUuid()}, 'job.updated', 'delivered')`);
    expect(await list()).toHaveLength(1);
  });

  it("refuses a page of no size and a cursor of another list", async () => {
    const { agent } = await fixture();
    const attempts = [
      { filter: {}, limit: 0 },
      { filter: {}, limit: 201 },
      { filter: {}, limit: 10, cursor: "bm9uZQ" },
    ].map((page) => (async () => await services.deliveries.list(agent, page))());
    for (const refused of await Promise.allSettled(attempts))
      expect(refused).toMatchObject({ reason: { code: "BadRequestException" } });
  });
});

describe("get", () => {
  it("shows the attempts in order, and the body exactly as it is sent, as its organisation may see it", async () => {
    const { agent, list } = await fixture();
    const contractor = await services.partner("contractor");
    await services.endpoints.create(contractor, { url: URL });
    await services.job(agent, contractor);
    const [delivery] = await list({ eventType: "job.assigned" });
    await attempt(delivery!.id, 2);
    await attempt(delivery!.id, 1);
    const found = await services.deliveries.get(agent, delivery!.id);
    expect(found.delivery).toEqual(delivery);
    expect(found.attempts.map(({ number }) => number)).toEqual([1, 2]);
    expect(found.attempts[0]).toEqual({
      id: expect.stringMatching(/^att_/),
      number: 1,
      startedAt: expect.stringMatching(/Z$/),
      durationMs: 12,
      outcome: "http_500",
      httpStatus: 500,
      error: "It answered 500.",
      requestHeaders: { "webhook-id": "evt_1", "x-token": "********" },
      responseHeaders: { "content-type": "text/plain" },
      responseBody: "oops",
    });
    const [row] = await services.database.query<EventRow>(
      sql`select * from job_event where id = ${fromTypedId("evt", delivery!.eventId)}`,
    );
    expect(found.requestBody).toBe(JSON.stringify(toEventWire(row as EventRow, agent)));
    expect(JSON.parse(found.requestBody ?? "")).toMatchObject({
      id: delivery!.eventId,
      type: "job.assigned",
    });

    const [theirs] = (
      await services.deliveries.list(contractor, { filter: { eventType: "job.assigned" }, limit: 1 })
    ).items;
    const { requestBody } = await services.deliveries.get(contractor, theirs!.id);
    expect(requestBody).toBe(JSON.stringify(toEventWire(row as EventRow, contractor)));
  });

  it("has no body where the event is gone", async () => {
    const { agent, uuid, list } = await fixture();
    await services.database.query(sql`
      insert into webhook_delivery (id, endpoint_id, event_id, event_type)
      values (${newUuid()}, ${uuid}, ${newUuid()}, 'job.updated')`);
    const [delivery] = await list();
    expect(await services.deliveries.get(agent, delivery!.id)).toMatchObject({
      requestBody: null,
      attempts: [],
    });
  });
});

describe("replay", () => {
  it("sends the same event in a delivery of its own, and leaves the one before as it was", async () => {
    const { agent, uuid, list } = await fixture();
    await services.job(agent);
    await end(uuid, "delivered");
    const [before] = await list();
    const announced = services.announced.count;
    const made = await services.deliveries.replay(agent, before!.id);
    expect(made).toMatchObject({
      eventId: before!.eventId,
      jobId: before!.jobId,
      eventType: before!.eventType,
      origin: "replay",
      status: "pending",
      attempts: 0,
    });
    expect(await list()).toEqual([made, before]);
    expect(services.announced.count).toBe(announced + 1);
  });

  it("discards one that still waits, so that its event is sent once", async () => {
    const { agent, list } = await fixture();
    await services.job(agent);
    const [before] = await list();
    await services.deliveries.replay(agent, before!.id);
    expect(await list()).toMatchObject([
      { origin: "replay", status: "pending" },
      { id: before!.id, status: "discarded", finishedAt: expect.any(String) },
    ]);
  });

  it("stays marked as after a restore, be it one or all that failed", async () => {
    const { agent, id, uuid, list } = await fixture();
    const marks = (origin: string) =>
      services.database.query<{ after_restore: boolean }>(sql`
        select after_restore from webhook_delivery where endpoint_id = ${uuid} and origin = ${origin} order by id`);
    await services.jobs(agent, 2);
    await markWaiting(services.database);
    const [, waiting] = await list();
    await services.deliveries.replay(agent, waiting!.id);
    await services.jobs(agent, 1);
    expect(await marks("event")).toEqual([true, true, false].map((mark) => ({ after_restore: mark })));
    expect(await marks("replay")).toEqual([{ after_restore: true }]);

    await end(uuid, "dead");
    await services.deliveries.replayFailed(agent, id, new Date(Date.now() - HOUR_MS));
    const replayed = await marks("replay");
    expect(replayed).toHaveLength(4);
    expect(replayed.filter(({ after_restore: mark }) => mark)).toHaveLength(3);
  });

  it("refuses one that is being sent, one of a deleted endpoint, and a test event", async () => {
    const { agent, id, uuid, list } = await fixture();
    await services.job(agent);
    const [delivery] = await list();
    await services.database.query(sql`
      update webhook_delivery set lease_token = ${newUuid()}, due_at = now() + interval '30 s' where endpoint_id = ${uuid}`);
    await expect(services.deliveries.replay(agent, delivery!.id)).rejects.toMatchObject({
      code: "ConflictException",
      message: expect.stringContaining("being sent"),
    });
    await services.endpoints.delete(agent, id);
    await expect(services.deliveries.replay(agent, delivery!.id)).rejects.toMatchObject({
      code: "ConflictException",
      message: expect.stringContaining("deleted"),
    });
    const other = await fixture();
    const { delivery: test } = await services.deliveries.sendTest(other.agent, other.id);
    await expect(services.deliveries.replay(other.agent, test.id)).rejects.toMatchObject({
      code: "ConflictException",
    });
    expect(await list()).toHaveLength(1);
  });

  it("holds when a worker ends the same delivery at that moment", async () => {
    const { agent, uuid, list } = await fixture();
    for (let round = 0; round < 10; round += 1) {
      await services.job(agent);
      const [delivery] = await list();
      const [made] = await Promise.all([
        services.deliveries.replay(agent, delivery!.id),
        end(uuid, "delivered").catch(() => undefined),
      ]);
      expect(made.origin).toBe("replay");
    }
    expect((await services.rows(sql`endpoint_id = ${uuid} and origin = 'replay'`)).length).toBe(10);
  });
});

describe("replayFailed", () => {
  it("sends again what has died since then, each once", async () => {
    const { agent, id, uuid } = await fixture();
    await services.jobs(agent, 3);
    await end(uuid, "dead", { agoMs: 2 * HOUR_MS });
    await services.jobs(agent, 4);
    await end(uuid, "dead");
    await services.jobs(agent, 2);
    await end(uuid, "delivered");
    await services.jobs(agent, 1);
    const since = new Date(Date.now() - HOUR_MS);
    expect(await services.deliveries.replayFailed(agent, id, since)).toEqual({ replayed: 4 });
    expect(await services.deliveries.replayFailed(agent, id, since)).toEqual({ replayed: 0 });
    const replays = await services.rows(sql`endpoint_id = ${uuid} and origin = 'replay'`);
    expect(replays).toHaveLength(4);
    expect(new Set(replays.map((row) => row.event_id)).size).toBe(4);

    // What fails again may be sent again, and that once.
    await end(uuid, "dead");
    expect(await services.deliveries.replayFailed(agent, id, since)).toEqual({ replayed: 5 });
    const all = new Date(Date.now() - DAY_MS);
    expect(await services.deliveries.replayFailed(agent, id, all)).toEqual({ replayed: 3 });
  });

  it("replays for two who ask at once as for one", async () => {
    const { agent, id, uuid } = await fixture();
    await services.jobs(agent, 50);
    await end(uuid, "dead");
    const since = new Date(Date.now() - HOUR_MS);
    const answers = await Promise.all(
      [1, 2, 3].map(() => services.deliveries.replayFailed(agent, id, since)),
    );
    expect(answers.map(({ replayed }) => replayed).toSorted((one, other) => one - other)).toEqual([0, 0, 50]);
  });

  it("replays many in parts, and tells the workers after each", { timeout: 120_000 }, async () => {
    const { agent, id, uuid } = await fixture();
    await services.database.query(sql`
      insert into webhook_delivery (id, endpoint_id, event_id, event_type, status, finished_at, attempts)
      select ${newUuidSql}, ${uuid}, ${newUuidSql}, 'job.updated', 'dead', now(), 10 from generate_series(1, 20000)`);
    const announced = services.announced.count;
    expect(await services.deliveries.replayFailed(agent, id, new Date(Date.now() - HOUR_MS))).toEqual({
      replayed: 20_000,
    });
    expect(services.announced.count - announced).toBe(10);
  });
});

describe("replayMissing", () => {
  it("delivers the events that the organisation may see, of the types wanted, that were never delivered", async () => {
    const { agent, id } = await fixture(["job.created"]);
    const contractor = await services.partner("contractor");
    await services.job(agent);
    const stranger = await services.partner("agent");
    await services.job(stranger, contractor);
    await services.job(agent, contractor);
    expect(await services.deliveries.replayMissing(agent, id)).toEqual({ replayed: 0 });

    const { endpoint: late } = await services.endpoints.create(agent, {
      url: URL,
      eventTypes: ["job.created"],
    });
    const { endpoint: all } = await services.endpoints.create(agent, { url: URL });
    const { endpoint: theirs } = await services.endpoints.create(contractor, { url: URL });
    expect(await services.deliveries.replayMissing(agent, late.id)).toEqual({ replayed: 2 });
    expect(await services.deliveries.replayMissing(agent, late.id)).toEqual({ replayed: 0 });
    expect(await services.deliveries.replayMissing(agent, all.id)).toEqual({ replayed: 3 });
    expect(await services.deliveries.replayMissing(contractor, theirs.id)).toEqual({ replayed: 2 });
    const { items } = await services.deliveries.list(agent, { filter: { endpointId: late.id }, limit: 10 });
    expect(items).toMatchObject([
      { origin: "replay", eventType: "job.created", status: "pending" },
      { origin: "replay", eventType: "job.created", status: "pending" },
    ]);
    expect(items[0]!.markingNumber).not.toBeNull();
  });

  it("begins at the time that it is given, and never before what the log still knows", async () => {
    const { agent } = await fixture();
    const { endpoint } = await services.endpoints.create(agent, { url: URL });
    const uuid = fromTypedId("whe", endpoint.id);
    await services.jobs(agent, 3);
    await services.database.query(sql`delete from webhook_delivery where endpoint_id = ${uuid}`);
    const old = async (ageMs: number): Promise<void> => {
      await services.database.query(sql`
        insert into job_event (id, type, job_id, agent_id, sequence, actor_type, changes, job)
        select ${newUuid(Date.now() - ageMs)}, 'job.updated', job_id, agent_id, ${Math.round(ageMs / 1_000)}, 'system', '{}', job
        from job_event where agent_id = ${agent.organizationId} limit 1`);
    };
    await old(2 * HOUR_MS);
    await old(29 * DAY_MS);
    await old(31 * DAY_MS);
    const since = new Date(Date.now() - HOUR_MS);
    expect(await services.deliveries.replayMissing(agent, endpoint.id, since)).toEqual({ replayed: 3 });
    expect(await services.deliveries.replayMissing(agent, endpoint.id)).toEqual({ replayed: 2 });
  });
});

describe("sendTest", () => {
  it("sends at once, signed, also to a paused endpoint, and keeps it in the log with the answer", async () => {
    await using receiver = await startReceiver({ respond: () => ({ status: 202, body: "thanks" }) });
    const agent = await services.partner("agent");
    const { endpoint, secret } = await services.endpoints.create(agent, {
      url: receiver.url,
      headers: { "X-Token": "s3cr3t" },
    });
    await services.endpoints.pause(agent, endpoint.id);
    const { delivery, attempts, requestBody } = await services.deliveries.sendTest(agent, endpoint.id);
    const received = await receiver.next();
    expect(received.headers).toMatchObject({ "x-token": "s3cr3t", "webhook-id": delivery.eventId });
    const headers = received.headers as Record<string, string>;
    expect(verify(secret, { headers, body: received.body }, { nowMs: services.clock.now() })).toEqual({
      valid: true,
    });
    expect(JSON.parse(received.body)).toEqual({
      id: delivery.eventId,
      type: "webhook.test",
      api_version: "v1",
      timestamp: expect.stringMatching(/Z$/),
      data: { message: expect.stringContaining("test"), endpoint_id: endpoint.id },
    });
    expect(requestBody).toBe(received.body);
    expect(delivery).toMatchObject({
      endpointId: endpoint.id,
      eventType: "webhook.test",
      jobId: null,
      markingNumber: null,
      origin: "test",
      status: "delivered",
      attempts: 1,
      outcome: "delivered",
    });
    expect(attempts).toMatchObject([{ number: 1, httpStatus: 202, responseBody: "thanks", error: null }]);
    expect(attempts[0]?.requestHeaders).toMatchObject({ "x-token": "********" });
    expect((await services.deliveries.list(agent, { filter: {}, limit: 5 })).items).toEqual([delivery]);
  });

  it("tells what was wrong, and leaves the endpoint as it is", async () => {
    await using receiver = await startReceiver({ respond: () => ({ status: 410 }) });
    const agent = await services.partner("agent");
    const { endpoint } = await services.endpoints.create(agent, { url: receiver.url });
    const gone = await services.deliveries.sendTest(agent, endpoint.id);
    expect(gone.delivery).toMatchObject({ status: "dead", outcome: "http_410" });
    const { endpoint: closed } = await services.endpoints.create(agent, { url: URL });
    const refused = await services.deliveries.sendTest(agent, closed.id);
    expect(refused.delivery).toMatchObject({ status: "dead", outcome: "connect_refused" });
    expect(refused.attempts).toMatchObject([
      { httpStatus: null, error: expect.any(String), responseBody: null },
    ]);
    expect(await services.endpoints.get(agent, endpoint.id)).toEqual(endpoint);
  });
});

describe("openWebhooks", () => {
  it("makes the weeks in which whatever ends finds its place, where no worker has", async () => {
    await using own = await openWebhookServices({ retentionDays: 60 });
    const weeks = await own.database.query(
      sql`select from pg_inherits where inhparent = 'webhook_attempt'::regclass`,
    );
    expect(weeks.length).toBeGreaterThan(60 / 7);
  });
});

describe("retire", () => {
  it("deletes what waited for longer than it is kept, and drops the weeks that are over", async () => {
    await using own = await openWebhookServices({ retentionDays: 7 });
    // More was kept before.
    await ensurePartitions(own.database, Date.now(), 30);
    const agent = await own.partner("agent");
    const { endpoint } = await own.endpoints.create(agent, { url: URL });
    const uuid = fromTypedId("whe", endpoint.id);
    const insert = (ageMs: number, status: string) =>
      own.database.query(sql`
        insert into webhook_delivery (id, endpoint_id, event_id, event_type, status)
        values (${newUuid(Date.now() - ageMs)}, ${uuid}, ${newUuid()}, 'job.updated', ${status})`);
    await insert(8 * DAY_MS, "pending");
    await insert(6 * DAY_MS, "pending");
    await insert(30 * DAY_MS, "delivered");
    await insert(DAY_MS, "delivered");
    const retired = await own.deliveries.retire();
    expect(retired.deleted).toBe(1);
    expect(retired.dropped.length).toBeGreaterThanOrEqual(2);
    expect((await own.rows()).map(({ status }) => status).toSorted()).toEqual(["delivered", "pending"]);
    expect(await own.deliveries.retire()).toEqual({ deleted: 0, dropped: [] });
  });

  it("discards what still came for an endpoint while it was deleted", async () => {
    const { agent, id, uuid } = await fixture();
    const other = await fixture();
    await services.endpoints.delete(agent, id);
    const insert = (endpoint: string, attempts: number) =>
      services.database.query(sql`
        insert into webhook_delivery (id, endpoint_id, event_id, event_type, attempts)
        values (${newUuidSql}, ${endpoint}, ${newUuid()}, 'job.updated', ${attempts})`);
    await insert(uuid, 0);
    await insert(uuid, 1);
    await insert(other.uuid, 0);
    await services.deliveries.retire();
    const statuses = async (endpoint: string) =>
      (await services.rows(sql`endpoint_id = ${endpoint}`)).map(({ status }) => status);
    expect(await statuses(uuid)).toEqual(["discarded", "discarded"]);
    expect(await statuses(other.uuid)).toEqual(["pending"]);
  });
});

describe("an organisation", () => {
  it("sees and replays its own deliveries alone; another's answer as what is not there", async () => {
    const { agent, id, uuid, list } = await fixture();
    const contractor = await services.partner("contractor");
    await services.job(agent, contractor);
    await end(uuid, "dead");
    const [delivery] = await list();
    const before = await services.rows(sql`endpoint_id = ${uuid}`);
    const { deliveries } = services;
    const attempts = (whose: { delivery: string; endpoint: string }) => [
      () => deliveries.get(contractor, whose.delivery),
      () => deliveries.replay(contractor, whose.delivery),
      () => deliveries.list(contractor, { filter: { endpointId: whose.endpoint }, limit: 5 }),
      () => deliveries.replayFailed(contractor, whose.endpoint, new Date(0)),
      () => deliveries.replayMissing(contractor, whose.endpoint),
      () => deliveries.sendTest(contractor, whose.endpoint),
    ];
    const answers = (whose: { delivery: string; endpoint: string }) =>
      Promise.all(
        attempts(whose).map((tried) =>
          tried().then(
            () => "done",
            (error: unknown) => {
              if (!(error instanceof AppError)) throw error;
              const { code, message, details } = error;
              return JSON.stringify({ code, message, details });
            },
          ),
        ),
      );
    const another = await answers({ delivery: delivery!.id, endpoint: id });
    expect(another).toEqual(
      await answers({ delivery: toTypedId("dlv", newUuid()), endpoint: toTypedId("whe", newUuid()) }),
    );
    expect(another).toEqual(await answers({ delivery: "dlv_x", endpoint: "whe_x" }));
    expect(another.every((answer) => answer.includes("NotFoundException"))).toBe(true);
    const page = { filter: { organizationId: agent.organizationId }, limit: 5 };
    expect((await deliveries.list(contractor, page)).items).toEqual([]);
    expect(await services.rows(sql`endpoint_id = ${uuid}`)).toEqual(before);
    expect((await deliveries.list(operator, page)).items).toHaveLength(2);
  });
});
