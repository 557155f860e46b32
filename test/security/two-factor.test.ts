/** REQUIRE_TWO_FACTOR: whoever must have a second factor comes no further without one than to where it is turned on. */
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { sql } from "../../src/platform/postgres/sql.ts";
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

const SENTENCE = "Your account must use two-factor authentication: turn it on in the console first";
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
const newMember = (): Promise<TestUser> => createTestUser(app, { organizationId: agent.id, role: "member" });

/** As a page of the service sends them. */
function headersOf({ cookie }: SessionClient, { url }: Pick<AppInstance, "url"> = app) {
  return { cookie, origin: url };
}

async function asking(browser: SessionClient, instance: AppInstance = app): Promise<number> {
  return (await graphql(instance, JOBS, { headers: headersOf(browser, instance) })).status;
}

describe("an operator without one", () => {
  const behindSession = routeCases.filter(
    ({ auth, path }) => auth === "session" && !path.startsWith("/auth/"),
  );

  // evidence: two-factor-required-rest
  it.each([...behindSession, { method: "GET", path: "/operator/agenda/" } as const])(
    "is refused at $method $path",
    async (door) => {
      const browser = await signIn(app, await newOperator());
      const response = await sendFromOwnPage(app, door, { headers: headersOf(browser) });
      expect(response.status).toBe(403);
      expect(await response.text()).toContain(SENTENCE);
    },
  );

  // evidence: two-factor-required-graphql
  it("is refused by GraphQL, before it is looked at what is asked", async () => {
    const browser = await signIn(app, await newOperator());
    const answer = await graphql(app, JOBS, { headers: headersOf(browser) });
    expect(answer.status).toBe(403);
    expect(answer.errors).toMatchObject([{ message: SENTENCE, extensions: { code: "FORBIDDEN" } }]);
  });

  // evidence: two-factor-required-websocket
  it("has no socket", async () => {
    const browser = await signIn(app, await newOperator());
    const socket = await openRawWebSocket(app, headersOf(browser));
    socket.send({ type: "connection_init" });
    expect(await socket.closed).toEqual({ code: 4403, reason: SENTENCE });
  });

  it("sees their own account, which says so, and can leave", async () => {
    const browser = await signIn(app, await newOperator());
    const { user } = expectData(await browser.get("/auth/session"));
    expect(user).toMatchObject({ has_two_factor: false, requires_two_factor: true });
    expect(expectData(await browser.get("/auth/sessions"))).toHaveLength(1);
    expectData(await browser.post("/auth/sign-out"));
    expect((await browser.get("/auth/session")).status).toBe(401);
  });

  // evidence: two-factor-required-until-enabled
  it("comes in once it is on, and cannot turn it off", async () => {
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

  it("loses a socket that stands within a second of losing the second factor, however that came about", async () => {
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
    expect(await socket.closed).toEqual({ code: 4403, reason: SENTENCE });
  });

  it("is led by a browser from the tasks' dashboard to where it is turned on", async () => {
    const browser = await signIn(app, await newOperator());
    const headers = { ...headersOf(browser), accept: "text/html" };
    const response = await sendFromOwnPage(app, { method: "GET", path: "/operator/agenda/" }, { headers });
    expect(response.status).toBe(302);
    expect(response.headers.get("location")).toMatch(/sign-in\?next=%2Foperator%2Fagenda%2F$/);
  });
});

describe("people of organisations", () => {
  it("need none where operators alone do, and may turn theirs off", async () => {
    const member = await newMember();
    const browser = await signIn(app, member);
    expect(expectData(await browser.get("/auth/session")).user.requires_two_factor).toBe(false);
    expect(await asking(browser)).toBe(200);
    await enableTwoFactor(browser, member);
    expectData(await browser.post("/auth/two-factor/disable", { password: member.password }));
    expect(await asking(browser)).toBe(200);
  });

  // evidence: two-factor-required-for-all-users
  it("need one where everybody does, from the restart on; their organisation's keys are no people", async () => {
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
    // Opened by the password alone, before: it is none of those who have shown the second factor.
    const cookie = { headers: { cookie: browser.cookie, origin: strict.url } };
    expect((await graphql(strict, JOBS, cookie)).status).toBe(401);
  });
});

it("is demanded of nobody unless that is set", async () => {
  const free = await startAppInstance(app.databaseUrl);
  onTestFinished(() => free[Symbol.asyncDispose]());
  const browser = await signIn(free, await newOperator());
  expect(expectData(await browser.get("/auth/session")).user.requires_two_factor).toBe(false);
  expect(await asking(browser, free)).toBe(200);
});
