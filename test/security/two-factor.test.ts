/** REQUIRE_TWO_FACTOR: users who must have two-factor authentication can only set it up until they have done so. */
import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import { sql } from "../../src/core/postgres/sql.ts";
import * as accounts from "../support/accounts/accounts.fixture.ts";
import { startTestApp } from "../support/app/app.fixture.ts";
import { startAppInstance, type AppInstance } from "../support/app/app-instance.ts";
import { routeCases, sendFromOwnPage } from "../support/app/route-cases.ts";
import { graphql } from "../support/graphql/client.ts";
import { JOB_CHANGED, openRawWebSocket, createVisibleJobs } from "../support/graphql/subscription-client.ts";

const { enableTwoFactor, expectData, expectFailure } = accounts;
type Browser = accounts.SessionClient;

const TWO_FACTOR_REQUIRED =
  "Your account must use two-factor authentication: turn it on in the console first";
const JOBS = "{ jobs(first: 1) { nodes { markingNumber } } }";

const rig = await accounts.openAccounts(await startTestApp({ REQUIRE_TWO_FACTOR: "operators" }));
const { app, agent, newUser, signIn, isSignedIn } = rig;
await createVisibleJobs(app, agent, [{ markingNumber: "WM-1" }]);
afterAll(() => app[Symbol.asyncDispose]());

const newOperator = () => newUser("operator", null);
const sessionOf = async (browser: Browser) => expectData(await browser.get("/auth/session"));

/** With the Origin header of our own pages. */
function headersOf({ cookie }: Browser, { url }: Pick<AppInstance, "url"> = app) {
  return { cookie, origin: url };
}

async function statusOf(browser: Browser, instance: AppInstance = app): Promise<number> {
  return (await graphql(instance, JOBS, { headers: headersOf(browser, instance) })).status;
}

async function start(env: Record<string, string> = {}): Promise<AppInstance> {
  const instance = await startAppInstance(app.databaseUrl, env);
  onTestFinished(() => instance[Symbol.asyncDispose]());
  return instance;
}

describe("an operator without two-factor authentication", () => {
  const behindSession = routeCases.filter(
    ({ auth, path }) => auth === "session" && !path.startsWith("/auth/"),
  );

  // evidence: two-factor-required-rest
  it.each([...behindSession, { method: "GET", path: "/operator/agenda/" } as const])(
    "gets 403 from $method $path",
    async (route) => {
      const headers = headersOf(await signIn(await newOperator()));
      const response = await sendFromOwnPage(app, route, { headers });
      expect(response.status).toBe(403);
      expect(await response.text()).toContain(TWO_FACTOR_REQUIRED);
    },
  );

  // evidence: two-factor-required-graphql, two-factor-required-websocket
  it("is rejected by GraphQL before the query is validated, also over a WebSocket", async () => {
    const headers = headersOf(await signIn(await newOperator()));
    const { status, errors } = await graphql(app, JOBS, { headers });
    expect(status).toBe(403);
    expect(errors).toMatchObject([{ message: TWO_FACTOR_REQUIRED, extensions: { code: "FORBIDDEN" } }]);
    const socket = await openRawWebSocket(app, headers);
    socket.send({ type: "connection_init" });
    expect(await socket.closed).toEqual({ code: 4403, reason: TWO_FACTOR_REQUIRED });
  });

  it("can read their own session, which says so, and sign out", async () => {
    const browser = await signIn(await newOperator());
    const { user } = await sessionOf(browser);
    expect(user).toMatchObject({ has_two_factor: false, requires_two_factor: true });
    expect(expectData(await browser.get("/auth/sessions"))).toHaveLength(1);
    expectData(await browser.post("/auth/sign-out"));
    expect(await isSignedIn(browser)).toBe(false);
  });

  // evidence: two-factor-required-until-enabled
  it("is admitted once it is on, and cannot turn it off", async () => {
    const operator = await newOperator();
    const browser = await signIn(operator);
    expect(await statusOf(browser)).toBe(403);
    await enableTwoFactor(browser, operator);
    expect(await statusOf(browser)).toBe(200);
    const { password } = operator;
    expectFailure(await browser.post("/auth/two-factor/disable", { password }), 409, "must use two-factor");
    expect((await sessionOf(browser)).user.has_two_factor).toBe(true);
  });

  it("loses an open WebSocket connection after two-factor is turned off", async () => {
    const { browser, id } = await rig.newSecuredUser("operator", null);
    const socket = await openRawWebSocket(app, headersOf(browser));
    socket.send({ type: "connection_init" });
    await socket.waitForMessage("connection_ack");
    socket.send({ id: "1", type: "subscribe", payload: { query: JOB_CHANGED } });
    await app.database.query(sql`update user_account set two_factor_enabled = false where id = ${id}::uuid`);
    expect(await socket.closed).toEqual({ code: 4403, reason: TWO_FACTOR_REQUIRED });
  });

  it("is redirected from the task dashboard to the set-up page", async () => {
    const headers = { ...headersOf(await signIn(await newOperator())), accept: "text/html" };
    const response = await sendFromOwnPage(app, { method: "GET", path: "/operator/agenda/" }, { headers });
    expect(response.status).toBe(302);
    expect(response.headers.get("location")).toMatch(/sign-in\?next=%2Foperator%2Fagenda%2F$/);
  });
});

describe("members of organisations", () => {
  it("do not need it with REQUIRE_TWO_FACTOR=operators, and can turn it off", async () => {
    const member = await newUser();
    const browser = await signIn(member);
    expect((await sessionOf(browser)).user.requires_two_factor).toBe(false);
    await enableTwoFactor(browser, member);
    const { password } = member;
    expectData(await browser.post("/auth/two-factor/disable", { password }));
    expect(await statusOf(browser)).toBe(200);
  });

  // evidence: two-factor-required-for-all-users
  it("need it with REQUIRE_TWO_FACTOR=all from the restart on, and API keys do not", async () => {
    const member = await newUser();
    const browser = await signIn(member);
    expect(await statusOf(browser)).toBe(200);
    const strict = await start({ REQUIRE_TWO_FACTOR: "all" });
    const there = await accounts.signIn(strict, member);
    expect([await statusOf(there, strict), await statusOf(browser, strict)]).toEqual([403, 403]);
    expect((await graphql(strict, JOBS, { key: agent.key })).status).toBe(200);
    await enableTwoFactor(there, member);
    // The other session was opened by password alone, before the restart.
    expect([await statusOf(there, strict), await statusOf(browser, strict)]).toEqual([200, 401]);
  });
});
