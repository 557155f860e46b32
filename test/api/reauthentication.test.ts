/** Sensitive actions of signed-in users need the password (and a code, with two-factor) from the last ten minutes. */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { toTypedId } from "../../src/core/ids.ts";
import { sql } from "../../src/core/postgres/sql.ts";
import {
  createTestUser,
  signIn,
  enableTwoFactor,
  type SessionClient,
} from "../support/accounts/session-client.ts";
import { ACCOUNT_ENV } from "../support/accounts/mails.ts";
import { expectData, expectFailure, expectProblems } from "../support/app/assertions.ts";
import { createFakeClock, MINUTE_MS, type FakeClock } from "../support/fake-clock.ts";
import { graphql, type GraphqlResponse } from "../support/graphql/client.ts";
import { createSignedInUser, type SignedInTestUser } from "../support/accounts/signed-in-user.ts";
import { startTestApp, type TestOrganization, type TestApp } from "../support/app/app.fixture.ts";
import { totpCode } from "../support/accounts/totp.ts";

const MESSAGE = "Confirm your identity first: enter your password again";

let app: TestApp;
let clock: FakeClock;
let agent: TestOrganization;

beforeAll(async () => {
  clock = createFakeClock();
  app = await startTestApp({ ...ACCOUNT_ENV, WEBHOOK_ALLOW_PRIVATE: "on" }, { clock });
  agent = await app.createOrganization("agent");
});
afterAll(() => app[Symbol.asyncDispose]());

const newOwner = (): Promise<SignedInTestUser> => createSignedInUser(app, agent.id);

const CREATE_KEY = `mutation { createApiKey(input: { name: "fresh" }) { apiKey { id } userErrors { code } } }`;
const CREATE_TEST_KEY = `mutation {
  createApiKey(input: { name: "fresh", mode: TEST }) { apiKey { id } userErrors { code } } }`;
const MOVE = `mutation ($id: ID!, $url: String!) {
  updateWebhookEndpoint(id: $id, patch: { url: $url }) { endpoint { url } userErrors { code } } }`;

/** Actions that need it for some inputs only. The test of all operations has the others. */
const actions: Record<string, () => Promise<{ query: string; variables?: Record<string, unknown> }>> = {
  "creating a key": async () => ({ query: CREATE_KEY }),
  "inviting an owner": async () => ({
    query: `mutation ($email: String!) {
      inviteMember(input: { email: $email, role: OWNER }) { invitation { id } userErrors { code } } }`,
    variables: { email: `owner.${randomUUID()}@test.example` },
  }),
  "inviting a developer": async () => ({
    query: `mutation ($email: String!) {
      inviteMember(input: { email: $email, role: DEVELOPER }) { invitation { id } userErrors { code } } }`,
    variables: { email: `developer.${randomUUID()}@test.example` },
  }),
  "making a member an owner": async () => {
    const { id } = await createTestUser(app, { organizationId: agent.id, role: "dispatcher" });
    return {
      query: `mutation ($id: ID!) { setMemberRole(id: $id, role: OWNER) { member { id } userErrors { code } } }`,
      variables: { id: toTypedId("usr", id) },
    };
  },
  "changing an endpoint's URL": async () => ({
    query: MOVE,
    variables: { id: await newEndpoint(), url: "http://127.0.0.1:9/moved" },
  }),
};

async function newEndpoint(): Promise<string> {
  const create = `mutation { createWebhookEndpoint(input: { url: "http://127.0.0.1:9/" }) { endpoint { id } } }`;
  const { data } = await graphql(app, create, { key: agent.key });
  return data.createWebhookEndpoint.endpoint.id;
}

function expectDone({ status, data }: GraphqlResponse): void {
  expect(status).toBe(200);
  const [payload] = Object.values(data as Record<string, { userErrors: unknown[] }>);
  expect(payload?.userErrors).toEqual([]);
}

function expectRefused({ status, errors }: GraphqlResponse): void {
  expect({ status, code: errors?.[0]?.extensions.code, message: errors?.[0]?.message }).toEqual({
    status: 403,
    code: "REAUTHENTICATION_REQUIRED",
    message: MESSAGE,
  });
}

const confirm = (browser: SessionClient, proof: object) => browser.post("/auth/reauthenticate", proof);

// evidence: reauthentication-expires
it.each(Object.entries(actions))(
  "%s works for ten minutes after the sign-in, and then needs the password again",
  async (_name, prepare) => {
    const owner = await newOwner();
    const [first, second] = [await prepare(), await prepare()];
    clock.advance(10 * MINUTE_MS - 1);
    expectDone(await owner.graphql(first.query, first.variables));
    clock.advance(1);
    expectRefused(await owner.graphql(second.query, second.variables));
    expectData(await confirm(owner.client, { password: owner.password }));
    expectDone(await owner.graphql(second.query, second.variables));
    clock.advance(10 * MINUTE_MS);
    expectRefused(await owner.graphql(CREATE_KEY));
  },
);

describe("other actions", () => {
  it("of API keys are not affected", async () => {
    clock.advance(60 * MINUTE_MS);
    expectDone(await graphql(app, CREATE_KEY, { key: agent.key }));
  });

  it("creating a test key is not affected", async () => {
    const owner = await newOwner();
    clock.advance(60 * MINUTE_MS);
    expectDone(await owner.graphql(CREATE_TEST_KEY));
  });

  it("an operator's test key for an organisation is affected", async () => {
    const operator = await createSignedInUser(app, null);
    clock.advance(60 * MINUTE_MS);
    expectRefused(await operator.graphql(CREATE_TEST_KEY));
  });

  it("that give no access are not affected: inviting a member, changing an endpoint's description", async () => {
    const owner = await newOwner();
    const id = await newEndpoint();
    clock.advance(10 * MINUTE_MS);
    const invite = `mutation { inviteMember(input: { email: "calm@test.example" }) { userErrors { code } } }`;
    expectDone(await owner.graphql(invite));
    const rename = `mutation ($id: ID!) {
      updateWebhookEndpoint(id: $id, patch: { description: "x", url: "http://127.0.0.1:9/" }) { userErrors { code } } }`;
    expectDone(await owner.graphql(rename, { id }));
  });
});

describe("two-factor", () => {
  // evidence: reauthentication-two-factor-changes
  it("is turned off, and gets new recovery codes, with a fresh authentication only", async () => {
    const person = await createTestUser(app, { organizationId: agent.id, role: "dispatcher" });
    const browser = await signIn(app, person);
    const { uri } = await enableTwoFactor(browser, person);
    // The new session has PostgreSQL's time, which is ahead of a clock that no test has advanced.
    clock.advance(60 * MINUTE_MS);
    for (const path of ["recovery-codes", "disable"]) {
      const refused = expectFailure(await browser.post(`/auth/two-factor/${path}`, {}), 403, MESSAGE);
      expect(refused.details).toEqual({ reason: "reauthentication_required" });
    }
    const code = totpCode(uri, 1);
    expectData(await confirm(browser, { password: person.password, code }));
    expectData(await browser.post("/auth/two-factor/recovery-codes", {}));
    expectData(await browser.post("/auth/two-factor/disable", {}));
    expect(expectData(await browser.get("/auth/session")).user.has_two_factor).toBe(false);
  });
});

describe("POST /auth/reauthenticate", () => {
  it("keeps the session, and is in the audit log", async () => {
    const { client, email, password } = await newOwner();
    const { cookie } = client;
    expectData(await confirm(client, { password }));
    expect(client.cookie).toBe(cookie);
    const acts = await app.database.query<{ action: string }>(
      sql`select action from audit_entry where actor = ${email} order by id`,
    );
    expect(acts.map(({ action }) => action)).toEqual(["session.opened", "session.reauthenticated"]);
  });

  it("makes no other session of the user fresh", async () => {
    const owner = await newOwner();
    const elsewhere = await signIn(app, owner);
    clock.advance(10 * MINUTE_MS);
    expectData(await confirm(elsewhere, { password: owner.password }));
    expectRefused(await owner.graphql(CREATE_KEY));
  });

  it("400 for a wrong password, and 429 after ten of them", async () => {
    const { client, password } = await newOwner();
    for (let index = 0; index < 10; index += 1)
      expectProblems(await confirm(client, { password: `guess number ${index}` }), "body", ["password"]);
    expectFailure(await confirm(client, { password }), 429);
  });

  // evidence: reauthentication-code-required
  it("with two-factor takes a code of either kind, each once, and nothing without one", async () => {
    const person = await createTestUser(app, { organizationId: agent.id, role: "dispatcher" });
    const browser = await signIn(app, person);
    const { uri, recoveryCodes } = await enableTwoFactor(browser, person);
    const { password } = person;
    const code = totpCode(uri, 1);
    const recovery = { password, code: recoveryCodes[0], kind: "recovery_code" };
    expectProblems(await confirm(browser, { password }), "body", ["code"]);
    expectProblems(await confirm(browser, { password, code: totpCode(uri, 500) }), "body", ["code"]);
    expectProblems(await confirm(browser, { password: "not my password", code }), "body", ["password"]);
    expectData(await confirm(browser, { password, code }));
    expectProblems(await confirm(browser, { password, code }), "body", ["code"]);
    expectData(await confirm(browser, recovery));
    expectProblems(await confirm(browser, recovery), "body", ["code"]);
    expectProblems(await confirm(browser, { password, code, kind: "other" }), "body", ["kind"]);
  });

  // evidence: reauthentication-throttle
  it("429 after ten wrong codes", async () => {
    const person = await createTestUser(app, { organizationId: agent.id, role: "dispatcher" });
    const browser = await signIn(app, person);
    const { uri } = await enableTwoFactor(browser, person);
    const { password } = person;
    for (let index = 0; index < 10; index += 1)
      expectProblems(await confirm(browser, { password, code: totpCode(uri, 500) }), "body", ["code"]);
    expectFailure(await confirm(browser, { password, code: totpCode(uri, 1) }), 429);
  });
});
