/** WebSockets of subscriptions: authentication, revalidation and closing. */
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { WebSocket } from "ws";
import { expectData } from "../support/app/assertions.ts";
import {
  waitForEventCount,
  readMetric,
  subscribeAndWait,
  subscribeMessage,
  openAuthenticatedWebSocket,
  initWebSocket,
  openRawWebSocket,
  openRejectedWebSocket,
  createVisibleJobs,
  webSocketUrl,
  countSubscriptions,
  waitUntilActive,
} from "../support/graphql/subscription-client.ts";
import { createFakeClock, HOUR_MS } from "../support/fake-clock.ts";
import { startAppInstance, type AppInstance } from "../support/app/app-instance.ts";
import { patchBatch } from "../support/app/job-client.ts";
import { sharedApp, type SharedApp } from "../support/app/shared-app.ts";
import { eventually } from "../support/eventually.ts";
import { suspend } from "../support/app/suspend.ts";

let app: SharedApp;
/** Trusts no proxy. */
let production: AppInstance;
beforeAll(async () => {
  app = await sharedApp("api");
  production = await startAppInstance(app.databaseUrl, {
    WAYMARK_ROLE: "api",
    NODE_ENV: "production",
    CORS_ORIGINS: "https://app.example.com",
  });
});
afterAll(() => production[Symbol.asyncDispose]());

describe("authentication", () => {
  it("closes with 4403 and the reason for a missing, wrong or ambiguous key, or without jobs:read", async () => {
    const agent = await app.createOrganization("agent", { scopes: ["jobs:write"] });
    const other = await app.createOrganization("agent");
    const tried = [
      [undefined, "An API key is required, as x-api-key or as Authorization: Bearer"],
      [{ "x-api-key": "wmk_wrong" }, "The API key is not valid"],
      [{ "x-api-key": 7 }, "An API key is required, as x-api-key or as Authorization: Bearer"],
      [
        { "x-api-key": other.key, authorization: `Bearer ${agent.key}` },
        "The request contains different keys; send only one",
      ],
      [
        { "x-api-key": other.key, "X-API-KEY": agent.key },
        "The request contains different keys; send only one",
      ],
      [{ "x-api-key": agent.key }, "The API key lacks the scope jobs:read"],
    ] as const;
    for (const [payload, reason] of tried) {
      const socket = await initWebSocket(app, payload);
      expect(await socket.closed).toEqual({ code: 4403, reason });
    }
  });

  it("accepts the key in the request headers, and its name in any case", async () => {
    const agent = await app.createOrganization("agent");
    const byHeader = await initWebSocket(app, undefined, { "X-API-Key": agent.key });
    await byHeader.waitForMessage("connection_ack");
    expect(byHeader.requestId).toMatch(/^req_/);
    const byPayload = await initWebSocket(app, { "X-Api-Key": agent.key }, { "x-api-key": "not used" });
    await byPayload.waitForMessage("connection_ack");
    const empty = await initWebSocket(app, { "x-api-key": "" }, { Authorization: `Bearer ${agent.key}` });
    await empty.waitForMessage("connection_ack");
  });

  it("closes with 4401 for subscribing before it, and 4406 without the subprotocol or with the old one", async () => {
    const early = await openRawWebSocket(app);
    early.send(subscribeMessage("1"));
    expect(await early.closed).toMatchObject({ code: 4401 });
    // Set as a header, because ws itself would end a handshake in which the server accepts no subprotocol.
    for (const headers of [{}, { "sec-websocket-protocol": "graphql-ws" }]) {
      const other = new WebSocket(webSocketUrl(app), { headers });
      onTestFinished(() => other.terminate());
      const code = await new Promise((resolve) => other.on("close", resolve));
      expect(code).toBe(4406);
    }
  });

  it("rejects a key from an IP address that it does not allow, even if an untrusted proxy claims another", async () => {
    const agent = await app.createOrganization("agent", { cidrs: ["203.0.113.0/24"] });
    const payload = { "x-api-key": agent.key };
    const socket = await initWebSocket(production, payload, { "x-forwarded-for": "203.0.113.7" });
    expect(await socket.closed).toEqual({
      code: 4403,
      reason: "The API key may not be used from this IP address",
    });
    const forwarded = { "x-forwarded-for": "198.51.100.1, 203.0.113.7" };
    const trusted = await initWebSocket(app, payload, forwarded);
    await trusted.waitForMessage("connection_ack");
  });

  it("returns 403 to pages of other origins unless CORS allows them", async () => {
    const rejected = await openRejectedWebSocket(app, { origin: "https://evil.example" });
    expect(rejected).toMatchObject({
      status: 403,
      body: { errors: [{ extensions: { code: "FORBIDDEN" } }] },
    });
    expect(rejected.body.errors[0]?.extensions.requestId).toMatch(/^req_/);
    await openRawWebSocket(app, { origin: app.url });
    await openRawWebSocket(app, { origin: "https://studio.apollographql.com" });
    await openRawWebSocket(production, { origin: "https://app.example.com" });
    expect(
      await openRejectedWebSocket(production, { origin: "https://studio.apollographql.com" }),
    ).toMatchObject({
      status: 403,
    });
  });
});

it("revalidation closes with 4403 when the key is revoked or expired, or the organisation suspended", async () => {
  const clock = createFakeClock();
  await using server = await startAppInstance(app.databaseUrl, { WAYMARK_ROLE: "api" }, { clock });
  const { id } = await app.organizations.create({ name: `agent ${Math.random()}`, type: "agent" });
  const create = (expiresAt: Date | null = null) =>
    app.keys.create({ organizationId: id, name: "test", createdBy: "test", expiresAt });
  const [revoked, other] = [await create(), await create()];
  const expiring = await create(new Date(clock.now() + HOUR_MS));
  const subscriptions = [];
  for (const { text } of [revoked, other, expiring]) subscriptions.push(await subscribeAndWait(server, text));
  const [ofRevoked, ofOther, ofExpiring] = subscriptions.map(({ ended }) => ended);

  await app.keys.revoke(revoked.key.id);
  expect(await ofRevoked).toMatchObject({ code: 4403, reason: "The API key is not valid" });
  clock.advance(HOUR_MS);
  expect(await ofExpiring).toMatchObject({ code: 4403, reason: "The API key has expired" });
  await suspend(app.database, id);
  expect(await ofOther).toMatchObject({ code: 4403, reason: "The organisation is suspended" });
  // The server counts a socket once the client has confirmed the end.
  const closes = 'waymark_websocket_closes_total{code="4403"}';
  await eventually(async () => expect(await readMetric(server, closes)).toBe(3));
});

describe("closing", () => {
  // evidence: websocket-slow-reader-closed
  it("uses 4413 for a client that reads nothing, while others get every event", async () => {
    await using server = await startAppInstance(app.databaseUrl, { WAYMARK_ROLE: "api" });
    const agent = await app.createOrganization("agent");
    const numbers = await createVisibleJobs(
      app,
      agent,
      Array.from({ length: 100 }, () => ({ patch: { instructions: "i".repeat(1_000) } })),
    );
    const quick = await subscribeAndWait(server, agent.key);
    const slow = await openAuthenticatedWebSocket(server, agent.key);
    const aliases = Array.from({ length: 19 }, (_, index) => `a${index}: instructions`).join(" ");
    slow.send({
      type: "subscribe",
      id: "1",
      payload: { query: `subscription { jobChanged { job { ${aliases} } } }` },
    });
    await waitUntilActive(slow, ["1"]);
    slow.socket.pause();
    const closes = 'waymark_websocket_closes_total{code="4413"}';
    expect(await readMetric(server, closes)).toBe(0);
    for (let weight = 1; weight <= 10; weight += 1) {
      const items = numbers.map((marking_number) => ({ marking_number, weight }));
      expectData(await patchBatch(app, agent, items));
    }
    await eventually(async () => expect(await countSubscriptions(server)).toBe(1));
    slow.socket.resume();
    expect(await slow.closed).toEqual({
      code: 4413,
      reason: "Too slow: query events(after:) for missed events",
    });
    expect(slow.messages.length).toBeLessThan(1_000);
    await waitForEventCount(quick, 1_000);
    await eventually(async () => expect(await readMetric(server, closes)).toBe(1));
  });

  it("uses 1001 when the server stops, which does not wait for unresponsive clients", async () => {
    const agent = await app.createOrganization("agent");
    const stopping = await startAppInstance(app.databaseUrl, { WAYMARK_ROLE: "api" });
    const subscription = await subscribeAndWait(stopping, agent.key);
    const unresponsive = await openAuthenticatedWebSocket(stopping, agent.key);
    unresponsive.socket.pause();
    await stopping[Symbol.asyncDispose]();
    expect(await subscription.ended).toMatchObject({ code: 1001, reason: "The server is stopping" });
  });
});
