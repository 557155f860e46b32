/** The log of deliveries, as its organisation reads it, and as no other does. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { toEventWire, type EventRow } from "../../src/events/event.wire.ts";
import { AppError } from "../../src/platform/errors.ts";
import { fromTypedId, newUuid, toTypedId } from "../../src/platform/ids.ts";
import { sql } from "../../src/platform/sql.ts";
import { operator } from "../../src/webhooks/caller.ts";
import type { DeliveryView } from "../../src/webhooks/delivery.view.ts";
import { DAY_MS, HOUR_MS } from "../support/fake-clock.ts";
import { agentWithEndpoint, endPending } from "../support/webhook-deliveries.ts";
import { CLOSED_URL } from "../support/webhook-endpoints.ts";
import { openWebhookServices, type WebhookServices } from "../support/webhook-services.ts";

let services: WebhookServices;

beforeAll(async () => {
  services = await openWebhookServices();
});

afterAll(() => services[Symbol.asyncDispose]());

async function attempt(deliveryId: string, number: number): Promise<void> {
  await services.database.query(sql`
    insert into webhook_attempt (id, delivery_id, number, started_at, duration_ms, outcome, http_status, error,
      request_headers, response_headers, response_body)
    values (${newUuid()}, ${fromTypedId("dlv", deliveryId)}, ${number}, now(), 12, 'http_500', 500, 'It answered 500.',
      '{"webhook-id": "evt_1", "x-token": "********"}', '{"content-type": "text/plain"}', 'oops')`);
}

describe("list", () => {
  it("shows an organisation's deliveries, newest first, page by page, none twice and none left out", async () => {
    const { agent, id, uuid } = await agentWithEndpoint(services);
    const { endpoint: second } = await services.endpoints.create(agent, { url: CLOSED_URL });
    for (let at = 0; at < 6; at += 1) {
      await services.job(agent);
      if (at % 2 === 0) await endPending(services, uuid, at === 0 ? "dead" : "delivered");
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
    const { agent, id, uuid, list } = await agentWithEndpoint(services);
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
    await endPending(services, uuid, "dead");
    expect((await list())[0]).toMatchObject({
      status: "dead",
      outcome: "http_500",
      nextAttemptAt: null,
      finishedAt: expect.stringMatching(/Z$/),
    });
  });

  it("narrows by endpoint, status, event type, Marking Number and outcome", async () => {
    const { agent, id, uuid, list } = await agentWithEndpoint(services);
    const contractor = await services.partner("contractor");
    const { endpoint: other } = await services.endpoints.create(agent, {
      url: CLOSED_URL,
      eventTypes: ["job.assigned"],
    });
    const markingNumber = await services.job(agent, contractor);
    await services.job(agent);
    await endPending(services, uuid, "dead", { count: 1 });
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
    const { endpoint } = await own.endpoints.create(agent, { url: CLOSED_URL });
    for (const ageMs of [60 * DAY_MS + HOUR_MS, 60 * DAY_MS - HOUR_MS])
      await own.database.query(sql`
        insert into webhook_delivery (id, endpoint_id, event_id, event_type, status)
        values (${newUuid(Date.now() - ageMs)}, ${fromTypedId("whe", endpoint.id)}, ${newUuid()}, 'job.updated', 'delivered')`);
    expect((await own.deliveries.list(agent, { filter: {}, limit: 5 })).items).toHaveLength(1);
  });

  it("goes back 30 days", async () => {
    const { uuid, list } = await agentWithEndpoint(services);
    for (const ageMs of [30 * DAY_MS + HOUR_MS, 30 * DAY_MS - HOUR_MS])
      await services.database.query(sql`
        insert into webhook_delivery (id, endpoint_id, event_id, event_type, status)
        values (${newUuid(Date.now() - ageMs)}, ${uuid}, ${newUuid()}, 'job.updated', 'delivered')`);
    expect(await list()).toHaveLength(1);
  });

  it("refuses a page of no size and a cursor of another list", async () => {
    const { agent } = await agentWithEndpoint(services);
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
    const { agent, list } = await agentWithEndpoint(services);
    const contractor = await services.partner("contractor");
    await services.endpoints.create(contractor, { url: CLOSED_URL });
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
    const { agent, uuid, list } = await agentWithEndpoint(services);
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

describe("an organisation", () => {
  // evidence: deliveries-isolated-per-organization
  it("sees and replays its own deliveries alone; another's answer as what is not there", async () => {
    const { agent, id, uuid, list } = await agentWithEndpoint(services);
    const contractor = await services.partner("contractor");
    await services.job(agent, contractor);
    await endPending(services, uuid, "dead");
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
