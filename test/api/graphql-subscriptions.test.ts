/** `jobChanged` over WebSocket: which events arrive, for whom, and in which order. */
import { beforeAll, describe, expect, it } from "vitest";
import { expectData } from "../support/app/assertions.ts";
import { waitUntilFeedIsComplete } from "../support/app/feed-client.ts";
import { queryData } from "../support/graphql/client.ts";
import {
  waitForEventCount,
  subscribeAndWait,
  createSubscriptionClient,
  subscribeMessage,
  openAuthenticatedWebSocket,
  initWebSocket,
  createVisibleJobs,
  onActive,
  waitUntilActive,
  subscribe,
  withFeedLocked,
  type SubscriptionEvent,
} from "../support/graphql/subscription-client.ts";
import { patchBatch, patchJob } from "../support/app/job-client.ts";
import type { TestOrganization } from "../support/app/app.fixture.ts";
import { sharedApp, type SharedApp } from "../support/app/shared-app.ts";
import { waitForBlockedSessions } from "../support/database/blocked-sessions.ts";
import { eventually } from "../support/eventually.ts";

let app: SharedApp;
beforeAll(async () => {
  app = await sharedApp("api");
});

const numbersOf = (events: readonly SubscriptionEvent[]): unknown[] =>
  events.map(({ job }) => job?.markingNumber);

async function change(agent: TestOrganization, number: string, weight: number): Promise<void> {
  expectData(await patchJob(app, agent, number, { weight }));
}

describe("jobChanged", () => {
  it("sends each event once, in the order of `events`, during concurrent batches", async () => {
    const agent = await app.createOrganization("agent");
    const numbers = await createVisibleJobs(
      app,
      agent,
      Array.from({ length: 20 }, () => ({})),
    );
    const { cursor } = await lastEvent(agent, numbers.length);
    const subscription = await subscribeAndWait(app, agent.key);
    const batch = async (weight: number): Promise<void> => {
      const items = numbers.map((marking_number) => ({ marking_number, weight }));
      expectData(await patchBatch(app, agent, items));
    };
    await Promise.all([1, 2, 3, 4, 5].map(batch));
    await waitForEventCount(subscription, 100);
    expect(subscription.events).toEqual(await eventsAfter(agent, cursor));
  });

  it("applies the filter and types to the job after the change", async () => {
    const agent = await app.createOrganization("agent");
    const [one = "", two = ""] = await createVisibleJobs(app, agent, [{}, {}]);
    const all = await subscribeAndWait(app, agent.key);
    const heavy = await subscribeAndWait(app, agent.key, { filter: { weight: { gte: 10 } } });
    const delivered = await subscribeAndWait(app, agent.key, {
      filter: { statusCategory: ["SUCCESS"] },
      types: ["JOB_STATUS_CHANGED"],
    });
    await change(agent, one, 20);
    await change(agent, two, 5);
    expectData(await patchJob(app, agent, two, { normalized_status: "completed" }));
    await change(agent, one, 5);
    await waitForEventCount(all, 4);
    await waitForEventCount(heavy, 1);
    await waitForEventCount(delivered, 1);
    expect(heavy.events).toEqual(all.events.slice(0, 1));
    expect(delivered.events).toEqual(all.events.slice(2, 3));
  });

  it("loses nothing: `events(after:)` with the last cursor returns the missed events", async () => {
    const agent = await app.createOrganization("agent");
    const [number = ""] = await createVisibleJobs(app, agent, [{}]);
    const first = await subscribeAndWait(app, agent.key);
    await change(agent, number, 1);
    await waitForEventCount(first, 1);
    first.stop();
    for (const weight of [2, 3, 4]) await change(agent, number, weight);
    await waitUntilFeedIsComplete(app.database);
    const second = await subscribeAndWait(app, agent.key);
    await change(agent, number, 5);
    await waitForEventCount(second, 1);
    const missed = await eventsAfter(agent, first.events[0]?.cursor ?? "", 4);
    expect(missed.map(({ sequence }) => sequence)).toEqual([3, 4, 5, 6]);
    expect(missed.at(-1)).toEqual(second.events[0]);
  });

  it("sends everything after the server's ping for the active subscription", async () => {
    const agent = await app.createOrganization("agent");
    const [number = ""] = await createVisibleJobs(app, agent, [{}]);
    const socket = await openAuthenticatedWebSocket(app, agent.key);
    await withFeedLocked(app, async () => {
      socket.send(subscribeMessage("mine"));
      await waitForBlockedSessions(app.database, 1);
      expect(socket.messages.filter(({ type }) => type === "ping")).toEqual([]);
    });
    const ping = await socket.waitForMessage("ping");
    expect(ping).toEqual({ type: "ping", payload: { subscribed: "mine", cursor: expect.any(String) } });
    await change(agent, number, 1);
    expect(await socket.waitForMessage("next")).toMatchObject({ id: "mine" });
    // The ping's cursor continues with exactly what the subscription sends.
    const { cursor } = ping["payload"] as { cursor: string };
    expect((await eventsAfter(agent, cursor, 1)).map(({ sequence }) => sequence)).toEqual([2]);
  });

  it("separates several subscriptions of one socket, and ending one ends no other", async () => {
    const agent = await app.createOrganization("agent");
    const [number = ""] = await createVisibleJobs(app, agent, [{}]);
    const socket = await initWebSocket(app, { authorization: `Bearer ${agent.key}` });
    await socket.waitForMessage("connection_ack");
    for (const id of ["one", "two"]) socket.send(subscribeMessage(id));
    await waitUntilActive(socket, ["one", "two"]);
    const received = (id: string): number =>
      socket.messages.filter((message) => message["type"] === "next" && message["id"] === id).length;
    await change(agent, number, 1);
    await eventually(() => expect([received("one"), received("two")]).toEqual([1, 1]));
    socket.send({ type: "complete", id: "one" });
    // The server handles the messages of a socket in order.
    socket.send({ type: "ping" });
    await socket.waitForMessage("pong");
    await change(agent, number, 2);
    await eventually(() => expect(received("two")).toBe(2));
    expect(received("one")).toBe(1);
  });

  it("serves many subscribers of the same jobs without overloading the database", async () => {
    const agent = await app.createOrganization("agent");
    const [number = ""] = await createVisibleJobs(app, agent, [{}]);
    let active = 0;
    const listeners = onActive(() => (active += 1));
    const subscriptions = Array.from({ length: 16 }, () =>
      createSubscriptionClient(app, { "x-api-key": agent.key }, listeners),
    ).flatMap((client) => Array.from({ length: 20 }, () => subscribe(client)));
    await eventually(() => expect(active).toBe(320));
    await change(agent, number, 1);
    await eventually(() => {
      for (const { events, endReason } of subscriptions)
        expect({ numbers: numbersOf(events), endReason }).toEqual({ numbers: [number] });
    });
  });
});

async function lastEvent(agent: TestOrganization, count: number): Promise<SubscriptionEvent> {
  const events = await eventsAfter(agent, null, count);
  return events.at(-1) as SubscriptionEvent;
}

/** Returns the events after a cursor as soon as there are `count`. */
function eventsAfter(agent: TestOrganization, after: string | null, count = 0): Promise<SubscriptionEvent[]> {
  const query = `query ($after: String) { events(first: 100, after: $after) {
    nodes { id type sequence cursor job { markingNumber } } } }`;
  return eventually(async () => {
    const { events } = await queryData(app, query, { key: agent.key, variables: { after } });
    expect(events.nodes.length).toBeGreaterThanOrEqual(count);
    return events.nodes as SubscriptionEvent[];
  });
}
