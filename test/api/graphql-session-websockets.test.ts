/** Subscriptions with a console session: allowed for our own pages, and only while the session is valid. */
import { beforeAll, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { subscriptionLimits } from "../../src/api/graphql/subscriptions/limits.ts";
import { toTypedId } from "../../src/core/ids.ts";
import { sql } from "../../src/core/postgres/sql.ts";
import { createSignedInUser, signInUser, type SignedInTestUser } from "../support/accounts/signed-in-user.ts";
import {
  JOB_CHANGED,
  initWebSocket,
  openRejectedWebSocket,
  type RawWebSocket,
  createVisibleJobs,
} from "../support/graphql/subscription-client.ts";
import { expectData } from "../support/app/assertions.ts";
import { patchJob } from "../support/app/job-client.ts";
import type { TestOrganization } from "../support/app/app.fixture.ts";
import { sharedApp, type SharedApp } from "../support/app/shared-app.ts";

let app: SharedApp;
let agent: TestOrganization;
let owner: SignedInTestUser;
let operator: SignedInTestUser;
let number: string;

beforeAll(async () => {
  app = await sharedApp("api");
  agent = await app.createOrganization("agent");
  [number = ""] = await createVisibleJobs(app, agent, [{}]);
  owner = await createSignedInUser(app, agent.id);
  operator = await createSignedInUser(app, null);
});

/** Opens a socket with an active subscription. */
async function follow({ headers }: Pick<SignedInTestUser, "headers">): Promise<RawWebSocket> {
  const socket = await initWebSocket(app, undefined, headers);
  await socket.waitForMessage("connection_ack");
  socket.send({ id: "1", type: "subscribe", payload: { query: JOB_CHANGED } });
  await socket.waitForMessage("ping");
  return socket;
}

let changes = 0;
async function changeJob(): Promise<void> {
  changes += 1;
  expectData(await patchJob(app, agent, number, { labels: String(changes) }));
}

/** Resolves with the close code, without an event that would be a reason to check the session. */
async function closedAfter(socket: RawWebSocket, end: () => Promise<unknown>) {
  expect(socket.socket.readyState).toBe(WebSocket.OPEN);
  await end();
  return await socket.closed;
}

it("sends the organisation's events to a signed-in user", async () => {
  const socket = await follow(owner);
  await changeJob();
  const { payload } = await socket.waitForMessage("next");
  expect(payload).toMatchObject({ data: { jobChanged: { job: { markingNumber: number } } } });
});

it.each(["DEVELOPER", "DISPATCHER", "VIEWER"])(
  "sends events to a user whose role became %s",
  async (role) => {
    const person = await createSignedInUser(app, agent.id);
    const socket = await follow(person);
    const { setMemberRole } = await owner.queryData(
      `mutation ($id: ID!) { setMemberRole(id: $id, role: ${role}) { userErrors { code } } }`,
      { id: toTypedId("usr", person.id) },
    );
    expect(setMemberRole.userErrors).toEqual([]);
    await changeJob();
    expect((await socket.waitForMessage("next"))["payload"]).toHaveProperty("data.jobChanged.job");
  },
);

it("uses the key of connection_init instead of the cookie", async () => {
  const none = await app.createOrganization("agent", { scopes: ["webhooks:manage"] });
  const socket = await initWebSocket(app, { "x-api-key": none.key }, owner.headers);
  expect(await socket.closed).toEqual({ code: 4403, reason: "The API key lacks the scope jobs:read" });
});

describe("closes with 4403", () => {
  it.each([
    ["without an origin", {}],
    ["from an origin that CORS allows for keys", { origin: "https://studio.apollographql.com" }],
    ["from a sibling domain", { "sec-fetch-site": "same-site" }],
  ])("for a cookie %s", async (_where, where) => {
    const socket = await initWebSocket(app, undefined, { cookie: owner.client.cookie, ...where });
    expect((await socket.closed).code).toBe(4403);
    expect(socket.messages).toEqual([]);
  });

  it("for the cookie of an ended session", async () => {
    const { headers, client } = await signInUser(app, owner);
    await client.post("/auth/sign-out");
    expect((await (await initWebSocket(app, undefined, headers)).closed).code).toBe(4403);
  });

  // evidence: websocket-closed-after-sign-out
  it("after signing out, and for no other socket of the user", async () => {
    const person = await signInUser(app, owner);
    const [ending, staying] = [await follow(person), await follow(owner)];
    expect(await closedAfter(ending, () => person.client.post("/auth/sign-out"))).toEqual({
      code: 4403,
      reason: "You are not signed in, or your session has ended",
    });
    await changeJob();
    await staying.waitForMessage("next");
  });

  it("after the user's removal", async () => {
    const person = await createSignedInUser(app, agent.id, "dispatcher");
    const socket = await follow(person);
    const id = toTypedId("usr", person.id);
    const remove = () => owner.queryData(`mutation { removeMember(id: "${id}") { id userErrors { code } } }`);
    expect(await closedAfter(socket, remove)).toMatchObject({ code: 4403 });
  });

  it("after the organisation's suspension", async () => {
    const other = await app.createOrganization("agent");
    const socket = await follow(await createSignedInUser(app, other.id));
    const id = toTypedId("org", other.id);
    const suspend = () =>
      operator.queryData(
        `mutation { suspendOrganization(id: "${id}", reason: "test") { userErrors { code } } }`,
      );
    expect(await closedAfter(socket, suspend)).toMatchObject({ code: 4403 });
  });

  it("after the session's expiry", async () => {
    const person = await createSignedInUser(app, agent.id);
    const socket = await follow(person);
    const expire = () =>
      app.database.query(
        sql`update user_session set expires_at = now() - interval '1 second' where user_id = ${person.id}::uuid`,
      );
    expect(await closedAfter(socket, expire)).toMatchObject({ code: 4403 });
  });
});

it("is checked twice a second", () => {
  expect(subscriptionLimits.revalidateIntervalMs).toBe(500);
});

it("does not extend the session", async () => {
  const person = await createSignedInUser(app, agent.id);
  const socket = await follow(person);
  const longAgo = sql`update user_session set last_seen_at = now() - interval '2 hours' where user_id = ${person.id}::uuid`;
  await app.database.query(longAgo);
  await changeJob();
  await socket.waitForMessage("next");
  const [session] = await app.database.query<{ idle: boolean }>(sql`
    select last_seen_at < now() - interval '1 hour' as idle from user_session where user_id = ${person.id}::uuid`);
  expect(session?.idle).toBe(true);
});

// evidence: websocket-cross-site-403
it("returns 403 to pages of other origins before opening", async () => {
  const headers = { cookie: owner.client.cookie, origin: "https://evil.example" };
  expect((await openRejectedWebSocket(app, headers)).status).toBe(403);
});
