/** REQUIRE_TWO_FACTOR: users who must have two-factor authentication can only set it up until they have done so. */
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { sql } from "../../src/core/postgres/sql.ts";
import {
  createTestUser,
  signIn,
  type SessionClient,
  type TestUser,
  enableTwoFactor,
} from "../support/accounts/session-client.ts";
import { expectData, expectFailure } from "../support/app/assertions.ts";
import { routeCases, sendFromOwnPage } from "../support/app/route-cases.ts";
import { JOB_CHANGED, openRawWebSocket, createVisibleJobs } from "../support/graphql/subscription-client.ts";
import { graphql } from "../support/graphql/client.ts";
import { startAppInstance, type AppInstance } from "../support/app/app-instance.ts";
import { startTestApp, type TestOrganization, type TestApp } from "../support/app/app.fixture.ts";

const TWO_FACTOR_REQUIRED =
  "Your account must use two-factor authentication: turn it on in the console first";
const JOBS = "{ jobs(first: 1) { nodes { markingNumber } } }";

let app: TestApp;
let agent: TestOrganization;

beforeAll(async () => {
  app = await startTestApp({ REQUIRE_TWO_FACTOR: "operators" });
  agent = await app.createOrganization("agent");
  await createVisibleJobs(app, agent, [{ markingNumber: "WM-1" }]);
});
afterAll(() => app[Symbol.asyncDispose]());

const newOperator = (): Promise<TestUser> => createTestUser(app, { organizationId: null, role: "operator" });
const newMember = (): Promise<TestUser> =>
  createTestUser(app, { organizationId: agent.id, role: "dispatcher" });

/** With the Origin header of our own pages. */
function headersOf({ cookie }: SessionClient, { url }: Pick<AppInstance, "url"> = app) {
  return { cookie, origin: url };
}

async function asking(browser: SessionClient, instance: AppInstance = app): Promise<number> {
  return (await graphql(instance, JOBS, { headers: headersOf(browser, instance) })).status;
}

describe("an operator without two-factor authentication", () => {
  const behindSession = routeCases.filter(
    ({ auth, path }) => auth === "session" && !path.startsWith("/auth/"),
  );

  // evidence: two-factor-required-rest
  it.each([...behindSession, { method: "GET", path: "/operator/agenda/" } as const])(
    "gets 403 from $method $path",
    async (route) => {
      const browser = await signIn(app, await newOperator());
      const response = await sendFromOwnPage(app, route, { headers: headersOf(browser) });
      expect(response.status).toBe(403);
      expect(await response.text()).toContain(TWO_FACTOR_REQUIRED);
    },
  );

  // evidence: two-factor-required-graphql
  it("is rejected by GraphQL before the query is validated", async () => {
    const browser = await signIn(app, await newOperator());
    const answer = await graphql(app, JOBS, { headers: headersOf(browser) });
    expect(answer.status).toBe(403);
    expect(answer.errors).toMatchObject([
      { message: TWO_FACTOR_REQUIRED, extensions: { code: "FORBIDDEN" } },
    ]);
  });

  // evidence: two-factor-required-websocket
  it("cannot open a WebSocket connection", async () => {
    const browser = await signIn(app, await newOperator());
    const socket = await openRawWebSocket(app, headersOf(browser));
    socket.send({ type: "connection_init" });
    expect(await socket.closed).toEqual({ code: 4403, reason: TWO_FACTOR_REQUIRED });
  });

  it("can read their own session, which says so, and sign out", async () => {
    const browser = await signIn(app, await newOperator());
    const { user } = expectData(await browser.get("/auth/session"));
    expect(user).toMatchObject({ has_two_factor: false, requires_two_factor: true });
    expect(expectData(await browser.get("/auth/sessions"))).toHaveLength(1);
    expectData(await browser.post("/auth/sign-out"));
    expect((await browser.get("/auth/session")).status).toBe(401);
  });

  // evidence: two-factor-required-until-enabled
  it("is admitted once it is on, and cannot turn it off", async () => {
    const operator = await newOperator();
    const browser = await signIn(app, operator);
    expect(await asking(browser)).toBe(403);
    await enableTwoFactor(browser, operator);
    expect(await asking(browser)).toBe(200);
    const { password } = operator;
    const refused = await browser.post("/auth/two-factor/disable", { password });
    expectFailure(refused, 409, "Your account must use two-factor authentication");
    expect(await asking(browser)).toBe(200);
  });

  it("loses an open WebSocket connection after two-factor is turned off", async () => {
    const operator = await newOperator();
    const browser = await signIn(app, operator);
    await enableTwoFactor(browser, operator);
    const socket = await openRawWebSocket(app, headersOf(browser));
    socket.send({ type: "connection_init" });
    await socket.waitForMessage("connection_ack");
    socket.send({ id: "1", type: "subscribe", payload: { query: JOB_CHANGED } });
    await app.database.query(
      sql`update user_account set two_factor_enabled = false where id = ${operator.id}::uuid`,
    );
    expect(await socket.closed).toEqual({ code: 4403, reason: TWO_FACTOR_REQUIRED });
  });

  it("is redirected from the task dashboard to the set-up page", async () => {
    const browser = await signIn(app, await newOperator());
    const headers = { ...headersOf(browser), accept: "text/html" };
    const response = await sendFromOwnPage(app, { method: "GET", path: "/operator/agenda/" }, { headers });
    expect(response.status).toBe(302);
    expect(response.headers.get("location")).toMatch(/sign-in\?next=%2Foperator%2Fagenda%2F$/);
  });
});

describe("members of organisations", () => {
  it("do not need it with REQUIRE_TWO_FACTOR=operators, and can turn it off", async () => {
    const member = await newMember();
    const browser = await signIn(app, member);
    expect(expectData(await browser.get("/auth/session")).user.requires_two_factor).toBe(false);
    expect(await asking(browser)).toBe(200);
    await enableTwoFactor(browser, member);
    expectData(await browser.post("/auth/two-factor/disable", { password: member.password }));
    expect(await asking(browser)).toBe(200);
  });

  // evidence: two-factor-required-for-all-users
  it("need it with REQUIRE_TWO_FACTOR=all from the restart on, and API keys do not", async () => {
    const member = await newMember();
    const browser = await signIn(app, member);
    expect(await asking(browser)).toBe(200);

    const strict = await startAppInstance(app.databaseUrl, { REQUIRE_TWO_FACTOR: "all" });
    onTestFinished(() => strict[Symbol.asyncDispose]());
    const there = await signIn(strict, member);
    expect(await asking(there, strict)).toBe(403);
    const before = await graphql(strict, JOBS, { headers: { cookie: browser.cookie, origin: strict.url } });
    expect(before.status).toBe(403);
    expect((await graphql(strict, JOBS, { key: agent.key })).status).toBe(200);
    await enableTwoFactor(there, member);
    expect(await asking(there, strict)).toBe(200);
    // This session was opened by password alone, before the restart.
    const cookie = { headers: { cookie: browser.cookie, origin: strict.url } };
    expect((await graphql(strict, JOBS, cookie)).status).toBe(401);
  });
});

it("two-factor authentication is optional by default", async () => {
  const free = await startAppInstance(app.databaseUrl);
  onTestFinished(() => free[Symbol.asyncDispose]());
  const browser = await signIn(free, await newOperator());
  expect(expectData(await browser.get("/auth/session")).user.requires_two_factor).toBe(false);
  expect(await asking(browser, free)).toBe(200);
});
