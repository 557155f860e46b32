/** The delivery log: lists, details, test events and isolation between organisations. */
import { describe, expect, it } from "vitest";
import { toEventWire, type EventRow } from "../../../src/events/wire.ts";
import { fromTypedId, newUuid, toTypedId } from "../../../src/core/ids.ts";
import { sql } from "../../../src/core/postgres/sql.ts";
import { systemPrincipal } from "../../../src/webhooks/webhook-principal.ts";
import type { DeliveryView } from "../../../src/webhooks/deliveries/view.ts";
import { DAY_MS, HOUR_MS } from "../../support/fake-clock.ts";
import { createAgentWithEndpoint, finishPendingDeliveries } from "../../support/webhooks/delivery.fixture.ts";
import { UNREACHABLE_URL } from "../../support/webhooks/endpoint.fixture.ts";
import { isSigned } from "../../support/webhooks/is-signed.ts";
import { startTestReceiver } from "../../support/webhooks/receiver.ts";
import {
  answersTo,
  openWebhookServiceFixture,
  useWebhookServices,
} from "../../support/webhooks/service.fixture.ts";

const services = useWebhookServices();

async function attempt(deliveryId: string, number: number, atMs = Date.now()): Promise<void> {
  await services.database.query(sql`
    insert into webhook_attempt (id, delivery_id, number, started_at, duration_ms, outcome, http_status, error,
      request_headers, response_headers, response_body)
    values (${newUuid(atMs)}, ${fromTypedId("dlv", deliveryId)}, ${number}, now(), 12, 'http_500', 500, 'It answered 500.',
      '{"webhook-id": "evt_1", "x-token": "********"}', '{"content-type": "text/plain"}', 'oops')`);
}

describe("list", () => {
  it("returns each delivery of the organisation once, newest first, page by page", async () => {
    const { agent, id, uuid } = await createAgentWithEndpoint(services);
    const { endpoint: second } = await services.endpoints.create(agent, { url: UNREACHABLE_URL });
    for (let at = 0; at < 6; at += 1) {
      await services.createJob(agent);
      if (at % 2 === 0) await finishPendingDeliveries(services, uuid, at === 0 ? "failed" : "delivered");
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

  it("shows event, job, status and outcome of each delivery", async () => {
    const { agent, id, uuid, list } = await createAgentWithEndpoint(services);
    const markingNumber = await services.createJob(agent);
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
      attemptCount: 0,
      outcome: null,
      nextAttemptAt: null,
      isInFlight: false,
      createdAt: expect.stringMatching(/^\d{4}-.*Z$/),
      finishedAt: null,
    });
    await services.database.query(sql`
      update webhook_delivery set attempts = 2, outcome = 'timeout', due_at = now() + interval '5 min'
      where endpoint_id = ${uuid}`);
    const [retrying] = await list();
    expect(retrying).toMatchObject({ attemptCount: 2, outcome: "timeout", isInFlight: false });
    expect(Date.parse(retrying?.nextAttemptAt ?? "")).toBeGreaterThan(Date.now() + 250_000);
    await services.database.query(
      sql`update webhook_delivery set lease_token = ${newUuid()} where endpoint_id = ${uuid}`,
    );
    expect((await list())[0]).toMatchObject({ isInFlight: true, nextAttemptAt: null });
    await finishPendingDeliveries(services, uuid, "failed");
    expect((await list())[0]).toMatchObject({
      status: "failed",
      outcome: "http_500",
      nextAttemptAt: null,
      finishedAt: expect.stringMatching(/Z$/),
    });
  });

  it("filters by endpoint, status, event type, Marking Number and outcome", async () => {
    const { agent, id, uuid, list } = await createAgentWithEndpoint(services);
    const contractor = await services.createOrganization("contractor");
    const { endpoint: other } = await services.endpoints.create(agent, {
      url: UNREACHABLE_URL,
      eventTypes: ["job.assigned"],
    });
    const markingNumber = await services.createJob(agent, contractor);
    await services.createJob(agent);
    await finishPendingDeliveries(services, uuid, "failed", { count: 1 });
    expect(await list({ endpointId: id })).toHaveLength(3);
    expect(await list({ endpointId: other.id })).toMatchObject([
      { eventType: "job.assigned", markingNumber },
    ]);
    expect(await list({ status: "failed" })).toMatchObject([{ status: "failed", outcome: "http_500" }]);
    expect(await list({ status: "pending" })).toHaveLength(3);
    expect(await list({ status: "discarded" })).toEqual([]);
    expect(await list({ eventType: "job.assigned" })).toHaveLength(2);
    expect(await list({ markingNumber })).toHaveLength(3);
    expect(await list({ markingNumber: "none such" })).toEqual([]);
    expect(await list({ outcome: "http_500" })).toHaveLength(1);
    expect(await list({ endpointId: id, eventType: "job.created", status: "pending" })).toHaveLength(1);
  });

  it("goes back as far as the retention", async () => {
    await using own = await openWebhookServiceFixture({ retentionDays: 60 });
    const agent = await own.createOrganization("agent");
    const { endpoint } = await own.endpoints.create(agent, { url: UNREACHABLE_URL });
    for (const ageMs of [60 * DAY_MS + HOUR_MS, 60 * DAY_MS - HOUR_MS])
      await own.database.query(sql`
        insert into webhook_delivery (id, endpoint_id, event_id, event_type, status)
        values (${newUuid(Date.now() - ageMs)}, ${fromTypedId("whe", endpoint.id)}, ${newUuid()}, 'job.updated', 'delivered')`);
    expect((await own.deliveries.list(agent, { filter: {}, limit: 5 })).items).toHaveLength(1);
  });

  it("rejects an invalid page size and a cursor of another list", async () => {
    const { agent } = await createAgentWithEndpoint(services);
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
  it("returns the attempts in order and the exact body that the organisation receives", async () => {
    const { agent, list } = await createAgentWithEndpoint(services);
    const contractor = await services.createOrganization("contractor");
    await services.endpoints.create(contractor, { url: UNREACHABLE_URL });
    await services.createJob(agent, contractor);
    const [delivery] = await list({ eventType: "job.assigned" });
    await attempt(delivery!.id, 2);
    await attempt(delivery!.id, 1);
    const found = await services.deliveries.get(agent, delivery!.id);
    expect(found).toMatchObject(delivery!);
    expect(found.attempts.map(({ number }) => number)).toEqual([1, 2]);
    expect(found.attempts[0]).toEqual({
      id: expect.stringMatching(/^att_/),
      number: 1,
      startedAt: expect.stringMatching(/Z$/),
      durationMs: 12,
      outcome: "http_500",
      httpStatus: 500,
      error: "It answered 500.",
      requestHeaders: [
        { name: "webhook-id", value: "evt_1" },
        { name: "x-token", value: "********" },
      ],
      responseHeaders: [{ name: "content-type", value: "text/plain" }],
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

  it("has no body if the event no longer exists", async () => {
    const { agent, uuid, list } = await createAgentWithEndpoint(services);
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
  it("gets NotFoundException for deliveries of another organisation", async () => {
    const { agent, id, uuid, list } = await createAgentWithEndpoint(services);
    const contractor = await services.createOrganization("contractor");
    await services.createJob(agent, contractor);
    await finishPendingDeliveries(services, uuid, "failed");
    const [delivery] = await list();
    const before = await services.listDeliveries(sql`endpoint_id = ${uuid}`);
    const { deliveries } = services;
    const attempts = (whose: { delivery: string; endpoint: string }) => [
      () => deliveries.get(contractor, whose.delivery),
      () => deliveries.replay(contractor, whose.delivery),
      () => deliveries.list(contractor, { filter: { endpointId: whose.endpoint }, limit: 5 }),
      () => deliveries.replayMany(contractor, whose.endpoint, { which: "failed" }),
      () => deliveries.replayMany(contractor, whose.endpoint, { which: "missing" }),
      () => deliveries.ping(contractor, whose.endpoint),
    ];
    const another = await answersTo(attempts({ delivery: delivery!.id, endpoint: id }));
    const unknown = { delivery: toTypedId("dlv", newUuid()), endpoint: toTypedId("whe", newUuid()) };
    for (const none of [unknown, { delivery: "dlv_x", endpoint: "whe_x" }])
      expect(another).toEqual(await answersTo(attempts(none)));
    expect(another.every((answer) => answer.includes("NotFoundException"))).toBe(true);
    const page = { filter: { organizationId: agent.organizationId }, limit: 5 };
    expect((await deliveries.list(contractor, page)).items).toEqual([]);
    expect(await services.listDeliveries(sql`endpoint_id = ${uuid}`)).toEqual(before);
    expect((await deliveries.list(systemPrincipal, page)).items).toHaveLength(2);
  });
});

describe("the attempts of an endpoint", () => {
  it("are the newest 20 of finished deliveries and of those that will be retried, newest first", async () => {
    const { agent, id, uuid, list } = await createAgentWithEndpoint(services);
    await services.createJob(agent);
    await services.createJob(agent);
    const [retried, finished] = await list();
    await finishPendingDeliveries(services, uuid, "failed", { count: 1 });
    await services.database.query(
      sql`update webhook_delivery set attempts = 1 where id = ${fromTypedId("dlv", retried?.id ?? "")}`,
    );
    const startMs = Date.now();
    for (let number = 1; number <= 12; number += 1) {
      await attempt(finished?.id ?? "", number, startMs + 2 * number);
      await attempt(retried?.id ?? "", number, startMs + 2 * number + 1);
    }
    const attempts = await services.deliveries.attempts(agent, id);
    expect(attempts).toHaveLength(20);
    expect(attempts.slice(0, 3)).toMatchObject([
      { deliveryId: retried?.id, number: 12, httpStatus: 500, durationMs: 12, error: "It answered 500." },
      { deliveryId: finished?.id, number: 12 },
      { deliveryId: retried?.id, number: 11 },
    ]);
  });
});

describe("a test event", () => {
  it("is a signed request, also to a paused endpoint, and records the response in the log", async () => {
    await using receiver = await startTestReceiver({ respond: () => ({ status: 202, body: "thanks" }) });
    const agent = await services.createOrganization("agent");
    const { endpoint, secret } = await services.endpoints.create(agent, {
      url: receiver.url,
      headers: { "X-Token": "s3cr3t" },
    });
    await services.endpoints.pause(agent, endpoint.id);
    const { attempts, requestBody, ...delivery } = await services.deliveries.ping(agent, endpoint.id);
    const received = await receiver.next();
    expect(received.headers).toMatchObject({ "x-token": "s3cr3t", "webhook-id": delivery.eventId });
    expect(isSigned(secret, received)).toBe(true);
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
      attemptCount: 1,
      outcome: "delivered",
    });
    expect(attempts).toMatchObject([{ number: 1, httpStatus: 202, responseBody: "thanks", error: null }]);
    expect(attempts[0]?.requestHeaders).toContainEqual({ name: "x-token", value: "********" });
    expect((await services.deliveries.list(agent, { filter: {}, limit: 5 })).items).toEqual([delivery]);
  });

  it("reports the failure without changing the endpoint", async () => {
    await using receiver = await startTestReceiver({ respond: () => ({ status: 410 }) });
    const agent = await services.createOrganization("agent");
    const { endpoint } = await services.endpoints.create(agent, { url: receiver.url });
    const gone = await services.deliveries.ping(agent, endpoint.id);
    expect(gone).toMatchObject({ status: "failed", outcome: "http_410" });
    expect(gone.attempts[0]?.error).toMatch(/^The receiver returned 410 Gone\. This was a test/);
    const { endpoint: closed } = await services.endpoints.create(agent, { url: UNREACHABLE_URL });
    const refused = await services.deliveries.ping(agent, closed.id);
    expect(refused).toMatchObject({ status: "failed", outcome: "connect_refused" });
    expect(refused.attempts).toMatchObject([
      { httpStatus: null, error: expect.any(String), responseBody: null },
    ]);
    expect(await services.endpoints.get(agent, endpoint.id)).toEqual(endpoint);
  });
});
