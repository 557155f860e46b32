/** Console sessions in test mode: they see and change the organisation's test data, and nothing that is live. */
import { describe, expect, it } from "vitest";
import { toTypedId } from "../../../src/core/ids.ts";
import { sql } from "../../../src/core/postgres/sql.ts";
import { createSignedInUser, type SignedInTestUser } from "../../support/accounts/signed-in-user.ts";
import { startAppInstance } from "../../support/app/app-instance.ts";
import { sharedApp } from "../../support/app/shared-app.ts";
import { snapshotOf } from "../../support/app/organization-snapshot.ts";
import { startFaultProxy, withoutBackground } from "../../support/database/fault-proxy.ts";
import { eventually } from "../../support/eventually.ts";
import { startTestReceiver } from "../../support/webhooks/receiver.ts";
import { graphql } from "../../support/graphql/client.ts";
import { JOB_CHANGED, openRawWebSocket } from "../../support/graphql/subscription-client.ts";
import { suspend } from "../../support/app/suspend.ts";

const app = await sharedApp();
const agent = await app.createOrganization("agent");
const owner = await createSignedInUser(app, agent.id);
const member = await createSignedInUser(app, agent.id, "dispatcher");
await app.createJobs(agent, [{ markingNumber: "LIVE-1" }]);
await owner.queryData(
  'mutation { createWebhookEndpoint(input: { url: "http://127.0.0.1:9/hook" }) { endpoint { id } } }',
);
const objects = await owner.queryData("{ webhookEndpoints { id } jobs { nodes { id } } apiKeys { id } }");
/** Ids of live objects of `agent`. */
const live: Record<"job" | "endpoint" | "key" | "member", string> = {
  job: objects.jobs.nodes[0].id,
  endpoint: objects.webhookEndpoints[0].id,
  key: objects.apiKeys[0].id,
  member: toTypedId("usr", member.id),
};
await owner.client.post("/auth/test-mode");
const created = { organizationId: agent.id, name: "t", createdBy: "test", testSide: "agent" } as const;
/** A key of `agent`'s test organisation, and its Marking Number. */
const { text: testKey } = await app.keys.create(created);
const testJobs = await app.call("/v1/test/jobs", { key: testKey, method: "POST", body: "{}" });
const testNumber = String(testJobs.body.data.items[0].marking_number);

function send(user: SignedInTestUser, mode: string, query: string, variables = {}) {
  return graphql(app, query, { headers: { ...user.headers, "X-Waymark-Mode": mode }, variables });
}

async function data(user: SignedInTestUser, mode: string, query: string, variables = {}) {
  const { data: answer, errors } = await send(user, mode, query, variables);
  expect(errors).toBeUndefined();
  return answer;
}

const exported = async (query: string): Promise<string> =>
  (await app.request(`/console-api/jobs.csv${query}`, { headers: owner.headers })).text;

const numbersOf = async (user: SignedInTestUser, mode: string): Promise<string[]> => {
  const { jobs } = await data(user, mode, "{ jobs { totalCount nodes { markingNumber } } }");
  expect(jobs.totalCount).toBe(jobs.nodes.length);
  return jobs.nodes.map(({ markingNumber }: { markingNumber: string }) => markingNumber);
};

const testOrganizationsOf = async (id: string): Promise<string[]> =>
  (
    await app.database.query<{ type: string }>(
      sql`select type from organization where live_organization_id = ${id}::uuid order by type`,
    )
  ).map(({ type }) => type);

describe("POST /auth/test-mode", () => {
  it("200: creates the two test organisations once, also for concurrent requests", async () => {
    const other = await app.createOrganization("contractor");
    const user = await createSignedInUser(app, other.id);
    const answers = await Promise.all([1, 2, 3].map(() => user.client.post("/auth/test-mode")));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(await testOrganizationsOf(other.id)).toEqual(["agent", "contractor"]);
  });

  it("200: a member can switch once an owner has; 403 before, with what to do", async () => {
    const other = await app.createOrganization("agent");
    const user = await createSignedInUser(app, other.id, "dispatcher");
    const { status, body } = await user.client.post("/auth/test-mode");
    expect([status, body.error?.message]).toEqual([
      403,
      "Your organisation has no test data yet. Ask an owner or developer to switch to test mode once",
    ]);
    expect(await testOrganizationsOf(other.id)).toEqual([]);
    expect((await member.client.post("/auth/test-mode")).status).toBe(200);
  });

  it("403: operators, other sites and suspended organisations", async () => {
    const operator = await createSignedInUser(app, null);
    expect((await operator.client.post("/auth/test-mode")).status).toBe(403);
    const crossSite = { headers: { ...owner.headers, origin: "https://evil.example" }, method: "POST" };
    expect((await app.call("/auth/test-mode", crossSite)).status).toBe(403);
    const suspended = await app.createOrganization("agent");
    const user = await createSignedInUser(app, suspended.id);
    await suspend(app.database, suspended.id);
    expect((await user.client.post("/auth/test-mode")).status).toBe(403);
    expect(await testOrganizationsOf(suspended.id)).toEqual([]);
  });
});

describe("the mode of a session", () => {
  const VIEWER = "{ viewer { mode hasTestMode kind scopes organization { id name } user { id } } }";

  it("is live without the header, and names the side of test data with it", async () => {
    const { viewer } = (await owner.queryData(VIEWER)) as { viewer: object };
    expect(viewer).toMatchObject({ mode: "LIVE", hasTestMode: true, kind: "AGENT" });
    for (const [mode, kind] of [
      ["live", "AGENT"],
      ["test", "AGENT"],
      ["test:agent", "AGENT"],
      ["test:contractor", "CONTRACTOR"],
    ] as const) {
      const answer = (await data(owner, mode, VIEWER)).viewer;
      expect(answer).toMatchObject({ kind, mode: mode === "live" ? "LIVE" : "TEST", hasTestMode: true });
      expect(answer.user.id).toBe(toTypedId("usr", owner.id));
      expect(answer.organization.id === toTypedId("org", agent.id)).toBe(mode === "live");
    }
    const scopes = ["JOBS_READ", "JOBS_WRITE"];
    expect((await data(member, "test", VIEWER)).viewer).toMatchObject({ scopes, mode: "TEST" });
  });

  it("403 without test data, and for operators", async () => {
    const user = await createSignedInUser(app, (await app.createOrganization("agent")).id);
    expect((await user.queryData(VIEWER)).viewer).toMatchObject({ mode: "LIVE", hasTestMode: false });
    expect((await send(user, "test", VIEWER)).status).toBe(403);
    const operator = await createSignedInUser(app, null);
    expect((await operator.queryData(VIEWER)).viewer).toMatchObject({ mode: "LIVE", hasTestMode: false });
    expect((await send(operator, "test", VIEWER)).status).toBe(403);
  });

  it("403 in both modes while the live organisation is suspended", async () => {
    const other = await app.createOrganization("agent");
    const user = await createSignedInUser(app, other.id);
    await user.client.post("/auth/test-mode");
    for (const [suspended, status] of [
      [true, 403],
      [false, 200],
    ] as const) {
      await suspend(app.database, other.id, suspended);
      for (const mode of ["live", "test", "test:contractor"])
        expect((await send(user, mode, VIEWER)).status).toBe(status);
    }
  });

  it.each(["Test", "test:", "test:operator", "live,test", ""])("400 for %j, everywhere", async (mode) => {
    const { status, errors } = await send(owner, mode, VIEWER);
    expect([status, errors?.[0]?.message]).toEqual([
      400,
      "x-waymark-mode must be one of live, test, test:agent, test:contractor, partner",
    ]);
    const csv = `/console-api/jobs.csv?mode=${encodeURIComponent(mode)}`;
    expect((await app.call(csv, { headers: owner.headers })).status).toBe(400);
    const socket = await openRawWebSocket(app, owner.headers);
    socket.send({ type: "connection_init", payload: { "x-waymark-mode": mode } });
    expect((await socket.closed).code).toBe(4400);
  });

  it("costs no statement: each request reads the session once", async () => {
    await using proxy = await startFaultProxy(app.databaseUrl);
    await using counted = await startAppInstance(proxy.url, { WAYMARK_ROLE: "api" });
    const statementsIn = async (mode: string): Promise<string[]> => {
      const from = proxy.statements.length;
      const headers = { ...owner.headers, origin: counted.url, "x-waymark-mode": mode };
      const answer = await graphql(counted, "{ viewer { kind mode } }", { headers });
      expect(answer.errors).toBeUndefined();
      return withoutBackground(proxy.statements.slice(from)).filter((each) => each.includes("user_session"));
    };
    for (const mode of ["live", "test", "test:contractor"]) {
      const statements = (await statementsIn(mode)).filter((each) => !each.includes("update user_session"));
      expect(statements).toHaveLength(1);
    }
  });
});

describe("viewer.firstSteps", () => {
  const STEPS = `{ viewer { firstSteps {
    hasTestKey hasCalled hasReceivedWebhook hasDeliveredJob hasLiveKey } } }`;

  it("shows each step once it is done, the same in both modes", async () => {
    await using receiver = await startTestReceiver();
    const { id: organizationId } = await app.organizations.create({ name: "New Agency", type: "agent" });
    const user = await createSignedInUser(app, organizationId);
    const doneIn = async (mode: string): Promise<string[]> => {
      const { viewer } = await data(user, mode, STEPS);
      return Object.keys(viewer.firstSteps).filter((step) => viewer.firstSteps[step]);
    };
    expect(await doneIn("live")).toEqual([]);
    const create = { organizationId, name: "t", createdBy: "test" };
    const { text: key } = await app.keys.create({ ...create, testSide: "agent" });
    expect(await doneIn("live")).toEqual(["hasTestKey"]);
    const { body } = await app.call("/v1/test/jobs", { key, method: "POST", body: "{}" });
    await eventually(async () => expect(await doneIn("live")).toEqual(["hasTestKey", "hasCalled"]));
    const { createWebhookEndpoint } = await data(
      user,
      "test",
      `mutation ($url: String!) { createWebhookEndpoint(input: { url: $url }) { endpoint { id } } }`,
      { url: receiver.url },
    );
    const sendTest = "mutation ($id: ID!) { sendTestEvent(endpointId: $id) { delivery { status } } }";
    await data(user, "test", sendTest, { id: createWebhookEndpoint.endpoint.id });
    await app.call(`/v1/jobs/by-marking/${body.data.items[0].marking_number}`, {
      key,
      method: "PATCH",
      body: '{ "normalized_status": "completed" }',
    });
    await app.keys.create(create);
    for (const mode of ["live", "test", "test:contractor"])
      expect(await doneIn(mode)).toEqual([
        "hasTestKey",
        "hasCalled",
        "hasReceivedWebhook",
        "hasDeliveredJob",
        "hasLiveKey",
      ]);
  });

  it("is null for operators and keys", async () => {
    const operator = await createSignedInUser(app, null);
    expect((await operator.queryData(STEPS)).viewer.firstSteps).toBeNull();
    for (const key of [agent.key, testKey])
      expect((await graphql(app, STEPS, { key })).data.viewer.firstSteps).toBeNull();
  });
});

describe("a session in test mode", () => {
  it("sees test jobs only, from both sides; a live one sees live jobs only", async () => {
    expect(await numbersOf(owner, "live")).toEqual(["LIVE-1"]);
    for (const mode of ["test", "test:agent", "test:contractor"])
      expect(await numbersOf(owner, mode)).toEqual([testNumber]);
    expect(await numbersOf(member, "test")).toEqual([testNumber]);
  });

  it("sees no live row in any list, and none by its id", async () => {
    const lists = await data(
      owner,
      "test",
      `{ webhookEndpoints { id } webhookDeliveries { nodes { id } } apiKeys { id mode }
        requestLog { nodes { requestId } } jobStats(groupBy: [STATUS]) { total } events { nodes { job { markingNumber } } } }`,
    );
    expect(lists).toMatchObject({
      webhookEndpoints: [],
      webhookDeliveries: { nodes: [] },
      jobStats: { total: 1 },
    });
    expect(new Set(lists.apiKeys.map(({ mode }: { mode: string }) => mode))).toEqual(new Set(["TEST"]));
    expect(JSON.stringify(lists)).not.toContain("LIVE-1");
    const ids = [live.job, live.endpoint, live.key, toTypedId("org", agent.id)];
    const nodes = "query ($ids: [ID!]!) { nodes(ids: $ids) { id } }";
    expect((await data(owner, "test", nodes, { ids })).nodes).toEqual(ids.map(() => null));
    expect((await data(owner, "live", nodes, { ids })).nodes).toEqual(ids.map((id) => ({ id })));
  });

  it("changes no live row: live objects are unknown, and members, invitations and audit are refused", async () => {
    const before = await snapshotOf(app.database, agent.id);
    const attempts = [
      `updateJob(input: { markingNumber: "LIVE-1", patch: { labels: "x" } })`,
      `updateWebhookEndpoint(id: "${live.endpoint}", patch: { description: "x" })`,
      `pauseWebhookEndpoint(id: "${live.endpoint}")`,
      `rotateWebhookSecret(id: "${live.endpoint}")`,
      `deleteWebhookEndpoint(id: "${live.endpoint}")`,
      `sendTestEvent(endpointId: "${live.endpoint}")`,
      `replayDeliveries(endpointId: "${live.endpoint}", only: FAILED)`,
      `rotateApiKey(id: "${live.key}")`,
      `revokeApiKey(id: "${live.key}")`,
      `createApiKey(input: { name: "x", mode: LIVE })`,
      `createApiKey(input: { name: "x", organizationId: "${toTypedId("org", agent.id)}" })`,
      `createWebhookEndpoint(input: { url: "http://127.0.0.1:9/", organizationId: "${toTypedId("org", agent.id)}" })`,
      `inviteMember(input: { email: "new@test.example" })`,
      `setMemberRole(id: "${live.member}", role: OWNER)`,
      `removeMember(id: "${live.member}")`,
    ];
    for (const mode of ["test", "test:contractor"])
      for (const attempt of attempts) {
        const answer = await send(owner, mode, `mutation { ${attempt} { userErrors { code } } }`);
        const codes = [
          ...(answer.errors ?? []).map(({ extensions }) => extensions.code),
          ...Object.values(
            (answer.data ?? {}) as Record<string, { userErrors: { code: string }[] } | null>,
          ).flatMap((payload) => payload?.userErrors.map(({ code }) => code) ?? []),
        ];
        expect([attempt, codes.length]).toEqual([attempt, 1]);
        expect(["NOT_FOUND", "FORBIDDEN"]).toContain(codes[0]);
      }
    for (const query of ["{ invitations { id } }", "{ auditLog { nodes { id } } }"]) {
      const { errors } = await send(owner, "test", query);
      expect(errors?.[0]?.message).toBe("This belongs to live mode. Switch to live mode first");
    }
    expect(await snapshotOf(app.database, agent.id)).toEqual(before);
  });

  it("changes test jobs; both sides see the user's name", async () => {
    const change = `mutation ($n: String!) { updateJob(input: { markingNumber: $n, patch: { labels: "x" } }) {
      job { markingNumber } userErrors { code } } }`;
    const { updateJob } = await data(member, "test", change, { n: testNumber });
    expect(updateJob).toEqual({ job: { markingNumber: testNumber }, userErrors: [] });
    const names = await data(owner, "test:contractor", "{ members { id name } }");
    expect(names.members).toContainEqual({ id: toTypedId("usr", member.id), name: member.name });
  });

  it("creates, rotates and revokes test keys", async () => {
    const { createApiKey } = await data(
      owner,
      "test",
      `mutation { createApiKey(input: { name: "mine" }) { secret apiKey { id mode createdBy } userErrors { message } } }`,
    );
    expect(createApiKey.userErrors).toEqual([]);
    expect(createApiKey.secret).toMatch(/^wmk_test_/);
    expect(createApiKey.apiKey).toMatchObject({ mode: "TEST", createdBy: toTypedId("usr", owner.id) });
    const { id } = createApiKey.apiKey;
    const change = `mutation ($id: ID!) {
      rotateApiKey(id: $id, graceHours: 1) { apiKey { mode } userErrors { message } }
      revokeApiKey(id: $id) { userErrors { message } } }`;
    expect(await data(owner, "test", change, { id })).toEqual({
      rotateApiKey: { apiKey: { mode: "TEST" }, userErrors: [] },
      revokeApiKey: { userErrors: [] },
    });
    const { auditLog } = await data(owner, "live", "{ auditLog(first: 3) { nodes { action } } }");
    expect(auditLog.nodes.map(({ action }: { action: string }) => action).toSorted()).toEqual([
      "key.created",
      "key.revoked",
      "key.rotated",
    ]);
  });

  it("exports test jobs with mode=test", async () => {
    for (const mode of ["test", "test:contractor"]) {
      expect(await exported(`?mode=${mode}`)).toContain(testNumber);
      expect(await exported(`?mode=${mode}`)).not.toContain("LIVE-1");
    }
    expect(await exported("")).not.toContain(testNumber);
  });

  it("gets events of test jobs only over a WebSocket", async () => {
    const follow = async (mode: string) => {
      const socket = await openRawWebSocket(app, owner.headers);
      socket.send({ type: "connection_init", payload: { "x-waymark-mode": mode } });
      await socket.waitForMessage("connection_ack");
      socket.send({ id: "1", type: "subscribe", payload: { query: JOB_CHANGED } });
      await socket.waitForMessage("ping");
      return socket;
    };
    const [inTest, inLive] = [await follow("test:contractor"), await follow("live")];
    const change = `mutation ($n: String!) { updateJob(input: { markingNumber: $n, patch: { weight: 7 } }) { job { id } } }`;
    await data(owner, "live", change, { n: "LIVE-1" });
    await data(owner, "test", change, { n: testNumber });
    expect(JSON.stringify(await inTest.waitForMessage("next"))).toContain(testNumber);
    expect(JSON.stringify(await inLive.waitForMessage("next"))).toContain("LIVE-1");
  });

  it("keeps the user's own account: /auth ignores the header", async () => {
    const { body } = await app.call("/auth/session", {
      headers: { ...owner.headers, "x-waymark-mode": "test" },
    });
    expect(body.data).toMatchObject({ organization: { id: toTypedId("org", agent.id) } });
  });
});
