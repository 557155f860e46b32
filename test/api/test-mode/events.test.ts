/** Events of each type, sent to test endpoints with a test key. */
import { describe, expect, it } from "vitest";
import { type EventType, type EventWire, eventTypes } from "../../../src/events/api.ts";
import type { TestOrganization } from "../../support/app/app.fixture.ts";
import { expectFailure } from "../../support/app/assertions.ts";
import { waitUntilFeedIsComplete } from "../../support/app/feed-client.ts";
import { sharedApp } from "../../support/app/shared-app.ts";
import { startTestReceiver } from "../../support/webhooks/receiver.ts";

const app = await sharedApp();

interface Partner extends TestOrganization {
  /** Test keys of both sides. */
  agentKey: string;
  contractorKey: string;
}

async function createPartner(): Promise<Partner> {
  const agent = await app.createOrganization("agent");
  const createKey = (testSide: "agent" | "contractor") => app.createKey(agent.id, { testSide });
  return { ...agent, agentKey: await createKey("agent"), contractorKey: await createKey("contractor") };
}

const post = (key: string, path: string, body?: object) =>
  app.call(path, { key, method: "POST", ...(body && { body: JSON.stringify(body) }) });

async function createJob(key: string, body: object = {}): Promise<string> {
  return (await post(key, "/v1/test/jobs", body)).body.data.items[0].marking_number;
}

/** Returns the id of an endpoint. */
async function createEndpoint(key: string, url: string, types: EventType[] | null = null): Promise<string> {
  const { body } = await post(key, "/v1/webhook-endpoints", { url, event_types: types });
  return body.data.endpoint.id;
}

interface DeliveryWire {
  id: string;
  endpoint_id: string;
  event_id: string;
  marking_number: string | null;
  origin: string;
  status: string;
}

async function send(key: string, type: string, body?: object): Promise<DeliveryWire[]> {
  const response = await post(key, `/v1/test/events/${type}`, body);
  expect(response.status).toBe(201);
  return response.body.data.items;
}

describe("POST /v1/test/events/{type}", () => {
  it.each(eventTypes)("201: %s is delivered with the job as it is, and is in the feed", async (type) => {
    const { agentKey: key } = await createPartner();
    const number = await createJob(key, { template: { weight: 8.25 } });
    const before = (await app.call(`/v1/jobs/by-marking/${number}`, { key })).body.data;
    await using receiver = await startTestReceiver();
    await createEndpoint(key, receiver.url);

    const [delivery] = await send(key, type);
    expect(delivery).toMatchObject({
      event_type: type,
      marking_number: number,
      origin: "event",
      status: "pending",
    });
    const received = await receiver.next();
    expect(received.headers["webhook-id"]).toBe(delivery?.event_id);
    const event = JSON.parse(received.body) as EventWire;
    const isRemoval = type === "job.unassigned" || type === "job.deleted";
    const job = isRemoval ? { id: before.id, marking_number: number, version: 2 } : before;
    expect(event).toMatchObject({ id: delivery?.event_id, type, data: { sequence: 2 } });
    expect(event.data.job).toEqual(job);
    const [change] = Object.entries(event.data.changes);
    // A deletion changes no field.
    expect(change?.[1].to === change?.[1].from).toBe(type === "job.deleted");

    await waitUntilFeedIsComplete(app.database);
    const feed = await app.call("/v1/events?limit=100", { key });
    expect(feed.body.data.items).toContainEqual(event);
    const history = await app.call(`/v1/jobs/by-marking/${number}/history`, { key });
    expect(history.body.data.items).toHaveLength(2);
    expect((await app.call(`/v1/jobs/by-marking/${number}`, { key })).body.data).toEqual(before);
  });

  it.each(eventTypes)("201: %s has the documented example if there is no job", async (type) => {
    const { agentKey: key } = await createPartner();
    await using receiver = await startTestReceiver();
    await createEndpoint(key, receiver.url);
    const [delivery] = await send(key, type);
    expect(delivery).toMatchObject({ marking_number: null });
    const event = JSON.parse((await receiver.next()).body) as EventWire;
    expect(event.data.job.marking_number).toBe("TEST-EXAMPLE");
  });

  it("reaches at most five endpoints: a sixth is refused", async () => {
    const { agentKey: key } = await createPartner();
    for (let at = 0; at < 5; at += 1) await createEndpoint(key, "http://127.0.0.1:9");
    const refused = await post(key, "/v1/webhook-endpoints", { url: "http://127.0.0.1:9" });
    expectFailure(refused, 409, "A test organisation can have at most 5 webhook endpoints");
    expect(await send(key, "job.updated")).toHaveLength(5);
  });

  it("201: reaches only active endpoints of the key's organisation that receive the type", async () => {
    const partner = await createPartner();
    const key = partner.agentKey;
    const all = await createEndpoint(key, "http://127.0.0.1:9");
    const some = await createEndpoint(key, "http://127.0.0.1:9", ["job.updated"]);
    await createEndpoint(key, "http://127.0.0.1:9", ["job.created"]);
    const paused = await createEndpoint(key, "http://127.0.0.1:9");
    await post(key, `/v1/webhook-endpoints/${paused}/pause`);
    await createEndpoint(partner.contractorKey, "http://127.0.0.1:9");
    await createEndpoint(partner.key, "http://127.0.0.1:9");
    const deliveries = await send(key, "job.updated");
    expect(new Set(deliveries.map((each) => each.endpoint_id))).toEqual(new Set([all, some]));
    const [one] = await send(key, "job.updated", { endpoint_id: some });
    expect(one).toMatchObject({ endpoint_id: some });
  });

  it("201: is about the job with marking_number, for both sides", async () => {
    const { agentKey, contractorKey } = await createPartner();
    const number = await createJob(agentKey);
    await createJob(agentKey);
    for (const key of [agentKey, contractorKey]) {
      await createEndpoint(key, "http://127.0.0.1:9");
      const [delivery] = await send(key, "job.assigned", { marking_number: number });
      expect(delivery).toMatchObject({ marking_number: number });
    }
  });

  it("201: job.assigned of an unassigned job names your test contractor", async () => {
    const { agentKey: key } = await createPartner();
    await createJob(key, { assigned: false });
    await using receiver = await startTestReceiver();
    await createEndpoint(key, receiver.url);
    await send(key, "job.assigned");
    const { data } = JSON.parse((await receiver.next()).body) as EventWire;
    expect(data.changes).toEqual({ contractor_id: { from: null, to: expect.stringMatching(/^org_/) } });
  });

  it.each([
    ["job.lost", {}, "type must be one of job.created, job.updated, job.status_changed, job.assigned"],
    ["job.updated", { marking_number: 7 }, "marking_number"],
    ["job.updated", { endpoint_id: "whe_1" }, "endpoint_id"],
  ])("400: %s %j", async (type, body, message) => {
    const { agentKey: key } = await createPartner();
    await createEndpoint(key, "http://127.0.0.1:9");
    expectFailure(await post(key, `/v1/test/events/${type}`, body), 400, message);
  });

  it("404: a live job, and a job of another partner", async () => {
    const [partner, other] = [await createPartner(), await createPartner()];
    const key = partner.agentKey;
    await createEndpoint(key, "http://127.0.0.1:9");
    const [live] = await app.createJobs(partner, [{}]);
    for (const number of [live, await createJob(other.agentKey)]) {
      const response = await post(key, "/v1/test/events/job.updated", { marking_number: number });
      expectFailure(response, 404, "Delivery job not found");
    }
  });

  it("409: no active endpoint receives the type, and no event is recorded", async () => {
    const { agentKey: key } = await createPartner();
    const id = await createEndpoint(key, "http://127.0.0.1:9", ["job.created"]);
    for (const [body, message] of [
      [{}, "No active endpoint receives job.updated. Create one with POST /v1/webhook-endpoints"],
      [{ endpoint_id: id }, "The endpoint does not receive job.updated: it must be active and have the type"],
    ] as const)
      expectFailure(await post(key, "/v1/test/events/job.updated", body), 409, message);
    await waitUntilFeedIsComplete(app.database);
    expect((await app.call("/v1/events?limit=100", { key })).body.data.items).toEqual([]);
  });
});
