/** Sensitive actions of signed-in users need a sign-in (with a code, with two-factor) from the last ten minutes. */
import { randomUUID } from "node:crypto";
import { afterAll, expect, it } from "vitest";
import { toTypedId } from "../../src/core/ids.ts";
import * as accounts from "../support/accounts/accounts.fixture.ts";
import { ACCOUNT_ENV } from "../support/accounts/mails.ts";
import { createSignedInUser, type SignedInTestUser } from "../support/accounts/signed-in-user.ts";
import { startTestApp } from "../support/app/app.fixture.ts";
import { createFakeClock, MINUTE_MS } from "../support/fake-clock.ts";
import { graphql, type GraphqlResponse } from "../support/graphql/client.ts";

const { credentialsOf, expectData, expectFailure, totpCode } = accounts;
const MESSAGE = "Confirm your identity first: enter your password again";

const clock = createFakeClock();
const env = { ...ACCOUNT_ENV, WEBHOOK_ALLOW_PRIVATE: "on" };
const rig = await accounts.openAccounts(await startTestApp(env, { clock }));
const { app, agent } = rig;
afterAll(() => app[Symbol.asyncDispose]());

const newOwner = (): Promise<SignedInTestUser> => createSignedInUser(app, agent.id);
/** Signs in again in the same browser. */
const confirm = (browser: accounts.SessionClient, user: accounts.Credentials) =>
  browser.post("/auth/sign-in/email", credentialsOf(user));

const create = (mode: string) =>
  `mutation { createApiKey(input: { name: "fresh", mode: ${mode} }) { apiKey { id } userErrors { code } } }`;
const CREATE_KEY = create("LIVE");
const INVITE = `mutation ($email: String!, $role: MemberRole!) {
  inviteMember(input: { email: $email, role: $role }) { userErrors { code } } }`;
const CHANGE_ENDPOINT = `mutation ($id: ID!, $patch: WebhookEndpointPatch!) {
  updateWebhookEndpoint(id: $id, patch: $patch) { userErrors { code } } }`;

async function newEndpoint(): Promise<string> {
  const query = `mutation { createWebhookEndpoint(input: { url: "http://127.0.0.1:9/" }) { endpoint { id } } }`;
  return (await graphql(app, query, { key: agent.key })).data.createWebhookEndpoint.endpoint.id;
}

type Action = [query: string, variables?: Record<string, unknown>];
const newEmail = () => `${randomUUID()}@test.example`;

/** Actions that need it for some inputs only. The test of all operations has the others. */
const actions: Record<string, () => Promise<Action> | Action> = {
  "creating a key": () => [CREATE_KEY],
  "inviting an owner": () => [INVITE, { email: newEmail(), role: "OWNER" }],
  "inviting a developer": () => [INVITE, { email: newEmail(), role: "DEVELOPER" }],
  "making a member an owner": async () => [
    `mutation ($id: ID!) { setMemberRole(id: $id, role: OWNER) { userErrors { code } } }`,
    { id: toTypedId("usr", (await rig.newUser()).id) },
  ],
  "changing an endpoint's URL": async () => [
    CHANGE_ENDPOINT,
    { id: await newEndpoint(), patch: { url: "http://127.0.0.1:9/moved" } },
  ],
};

function expectDone({ status, data }: GraphqlResponse): void {
  expect(status).toBe(200);
  expect(Object.values(data as object)).toMatchObject([{ userErrors: [] }]);
}

function expectRefused({ status, errors }: GraphqlResponse): void {
  expect(status).toBe(403);
  expect(errors).toMatchObject([{ message: MESSAGE, extensions: { code: "REAUTHENTICATION_REQUIRED" } }]);
}

// evidence: reauthentication-expires
it.each(Object.entries(actions))(
  "%s works for ten minutes after the sign-in, and then needs the password again",
  async (_name, prepare) => {
    const owner = await newOwner();
    const [first, second] = [await prepare(), await prepare()];
    clock.advance(10 * MINUTE_MS - 1);
    expectDone(await owner.graphql(...first));
    clock.advance(1);
    expectRefused(await owner.graphql(...second));
    expectData(await confirm(owner.client, owner));
    expectDone(await owner.graphql(...second));
    clock.advance(10 * MINUTE_MS);
    expectRefused(await owner.graphql(CREATE_KEY));
  },
);

it("other actions are not affected: of API keys, and those that give no access to live data", async () => {
  const [owner, operator] = [await newOwner(), await createSignedInUser(app, null)];
  clock.advance(60 * MINUTE_MS);
  expectDone(await graphql(app, CREATE_KEY, { key: agent.key }));
  expectDone(await owner.graphql(create("TEST")));
  expectRefused(await operator.graphql(create("TEST")));
  expectDone(await owner.graphql(INVITE, { email: newEmail(), role: "DISPATCHER" }));
  const patch = { description: "x", url: "http://127.0.0.1:9/" };
  expectDone(await owner.graphql(CHANGE_ENDPOINT, { id: await newEndpoint(), patch }));
});

it("signing in again keeps the session, makes no other session fresh, and is in the audit log", async () => {
  const owner = await newOwner();
  const elsewhere = await rig.signIn(owner);
  clock.advance(10 * MINUTE_MS);
  const { session_id: id } = expectData(await elsewhere.get("/auth/session"));
  expectFailure(await confirm(elsewhere, { ...owner, password: "not my password" }), 401);
  expectData(await confirm(elsewhere, owner));
  expect(expectData(await elsewhere.get("/auth/session")).session_id).toBe(id);
  expectRefused(await owner.graphql(CREATE_KEY));
  expect((await rig.actsOf(owner.email)).filter((act) => act !== "session.sign_in_failed")).toEqual([
    "session.opened",
    "session.opened",
    "session.reauthenticated",
  ]);
});

// evidence: reauthentication-throttle
it("429 after ten wrong passwords", async () => {
  const owner = await newOwner();
  for (let index = 0; index < 10; index += 1)
    expectFailure(await confirm(owner.client, { ...owner, password: `guess number ${index}` }), 401);
  expectFailure(await confirm(owner.client, owner), 429);
});

// evidence: reauthentication-two-factor-changes, reauthentication-code-required
it("two-factor authentication is turned off, and gets new recovery codes, only after a sign-in with a code", async () => {
  const { browser, uri, recoveryCodes, ...user } = await rig.newSecuredUser("owner");
  const { password } = user;
  const change = (path: string) => browser.post(`/auth/two-factor/${path}`, { password });
  const enter = (kind: string, code = "") => browser.post(`/auth/two-factor/verify-${kind}`, { code });
  const expectStale = async () => {
    for (const path of ["generate-backup-codes", "disable"]) {
      const { details } = expectFailure(await change(path), 403, MESSAGE);
      expect(details).toEqual({ reason: "reauthentication_required" });
    }
  };
  clock.advance(60 * MINUTE_MS);
  await expectStale();
  expectData(await confirm(browser, user));
  await expectStale();
  expectFailure(await enter("totp", totpCode(uri, 500)), 401);
  await expectStale();
  expectData(await enter("totp", totpCode(uri, 1)));
  const { backupCodes } = expectData(await change("generate-backup-codes"));
  clock.advance(10 * MINUTE_MS);
  expectData(await confirm(browser, user));
  expectFailure(await enter("backup-code", recoveryCodes[0]), 401);
  expectData(await enter("backup-code", backupCodes[0]));
  expectData(await change("disable"));
  expect(expectData(await browser.get("/auth/session")).user.has_two_factor).toBe(false);
});
