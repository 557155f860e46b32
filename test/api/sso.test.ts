/** Single sign-on with OpenID Connect: of operators (OIDC_ISSUER) and of organisations. */
import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { toTypedId } from "../../src/core/ids.ts";
import { systemClock } from "../../src/core/clock.ts";
import { sql } from "../../src/core/postgres/sql.ts";
import type { UserRole } from "../../src/organizations/user.entity.ts";
import { issueRecoveryLink } from "../../src/accounts/passwords/recovery.ts";
import { cliAuditContext } from "../../src/cli/context.ts";
import {
  createSessionClient,
  createTestUser,
  type SessionClient,
  signIn,
  type TestUser,
} from "../support/accounts/session-client.ts";
import { createSignedInUser, type SignedInTestUser } from "../support/accounts/signed-in-user.ts";
import {
  CLIENT,
  type Forgery,
  startHostileIssuer,
  startOidcProvider,
} from "../support/accounts/identity-provider.ts";
import { ACCOUNT_ENV, listMailsTo } from "../support/accounts/mails.ts";
import { expectData, expectFailure } from "../support/app/assertions.ts";
import { startAppInstance, type ApiResponse, type AppInstance } from "../support/app/app-instance.ts";
import type { TestOrganization } from "../support/app/app.fixture.ts";
import { sharedApp, type SharedApp } from "../support/app/shared-app.ts";
import { graphql, queryData } from "../support/graphql/client.ts";
import { eventually } from "../support/eventually.ts";

let shared: SharedApp;
let app: AppInstance;
let strict: AppInstance;
let idp: Awaited<ReturnType<typeof startOidcProvider>>;
let hostile: Awaited<ReturnType<typeof startHostileIssuer>>;
/** TXT records by domain. */
const dns = new Map<string, string>();
const resolveTxt = (domain: string) => Promise.resolve([[dns.get(domain) ?? "v=spf1 -all"]]);

beforeAll(async () => {
  shared = await sharedApp("api");
  idp = await startOidcProvider();
  hostile = await startHostileIssuer();
  const env = {
    ...ACCOUNT_ENV,
    LOG_LEVEL: "silent",
    WEBHOOK_ALLOW_PRIVATE: "on",
    OIDC_ISSUER: hostile.url,
    OIDC_CLIENT_ID: CLIENT.id,
    OIDC_CLIENT_SECRET: CLIENT.secret,
  };
  app = await startAppInstance(shared.databaseUrl, env, { resolveTxt });
  const only = { REQUIRE_TWO_FACTOR: "all", SSO_ONLY: "all", OIDC_ROLE_CLAIM: "groups=staff" };
  strict = await startAppInstance(
    shared.databaseUrl,
    { ...env, ...only, OIDC_ISSUER: idp.url },
    { resolveTxt },
  );
});
beforeEach(() => {
  Object.assign(hostile, { isDown: false, forgery: {}, tokenRequests: [] });
});
afterAll(async () => {
  for (const started of [app, strict, idp, hostile]) await started[Symbol.asyncDispose]();
});

const SET = `mutation ($input: SetSingleSignOnInput!) { setSingleSignOn(input: $input) {
  singleSignOn { issuer clientId domain redirectUri verificationRecord verifiedAt } userErrors { field message } } }`;
const VERIFY = `mutation { verifySingleSignOnDomain { singleSignOn { verifiedAt } userErrors { message } } }`;
const REMOVE = `mutation { removeSingleSignOn { singleSignOn { issuer } userErrors { message } } }`;

const newDomain = (): string => `${randomBytes(5).toString("hex")}.example`;

/** Returns a user with an e-mail address in the domain. */
async function userOf(
  organizationId: string | null,
  role: UserRole,
  domain = newDomain(),
): Promise<TestUser> {
  const user = await createTestUser(shared, { organizationId, role });
  const email = `${user.id}@${domain}`;
  await shared.database.query(sql`update user_account set email = ${email} where id = ${user.id}::uuid`);
  return { ...user, email };
}

interface Connected {
  organization: TestOrganization;
  owner: SignedInTestUser;
  domain: string;
  member: TestUser;
  /** The path of the callback. */
  callback: string;
}

async function setSingleSignOn(owner: SignedInTestUser, input: object) {
  const client = { issuer: hostile.url, clientId: CLIENT.id, clientSecret: CLIENT.secret };
  return (await owner.queryData(SET, { input: { ...client, ...input } })).setSingleSignOn;
}

const verify = async (owner: SignedInTestUser) => (await owner.queryData(VERIFY)).verifySingleSignOnDomain;

/** Connects a new organisation to the issuer and proves its domain. */
async function connect(issuer = hostile.url): Promise<Connected> {
  const organization = await shared.createOrganization("agent");
  const owner = await createSignedInUser(app, organization.id);
  const domain = newDomain();
  const { singleSignOn } = await setSingleSignOn(owner, { issuer, domain });
  dns.set(domain, singleSignOn.verificationRecord);
  expect((await verify(owner)).userErrors).toEqual([]);
  const member = await userOf(organization.id, "dispatcher", domain);
  return { organization, owner, domain, member, callback: new URL(singleSignOn.redirectUri).pathname };
}

interface Claimed {
  sub?: string;
  email: string;
  email_verified?: unknown;
}

/** Starts a sign-in, and returns the URL of the provider. */
async function begin(browser: SessionClient, body: object): Promise<URL> {
  const { url } = expectData(await browser.post("/auth/sign-in/social", body));
  return new URL(url);
}

/** Answers as the hostile issuer: `person` consents, and the ID token is `forgery`. */
async function answer(browser: SessionClient, start: URL, person: Claimed): Promise<string> {
  const query = start.searchParams;
  hostile.person = { sub: person.email, email_verified: true, ...person } as typeof hostile.person;
  hostile.nonce = query.get("nonce") ?? "";
  const callback = new URL(query.get("redirect_uri") ?? "");
  return locationOf(await browser.get(`${callback.pathname}?code=c&state=${query.get("state")}`));
}

function locationOf({ status, headers }: ApiResponse): string {
  expect(status).toBe(302);
  return headers.get("location") ?? "";
}

/** Signs in through the organisation's provider. Returns where the browser is sent, and the browser. */
async function ssoSignIn(person: Claimed, { email = person.email, operator = false } = {}) {
  const browser = createSessionClient(app);
  const target = operator ? { provider: "operators" } : { provider: "organization", email };
  const start = await begin(browser, { ...target, callbackURL: "/jobs?x=1" });
  return { location: await answer(browser, start, person), browser };
}

const actsOf = async (email: string) =>
  await shared.database.query<{ action: string; details: Record<string, unknown> }>(
    sql`select action, details from audit_entry where actor = ${email} or subject = ${email} order by id`,
  );

describe("a sign-in", () => {
  it("of an operator goes through oidc-provider with PKCE, state and nonce, and needs no second factor", async () => {
    const operator = await userOf(null, "operator");
    idp.serve([`${strict.url}/auth/callback/operators`]);
    idp.person = { sub: "op-1", email: operator.email, email_verified: true, groups: ["drivers", "staff"] };
    const browser = createSessionClient(strict);
    const start = await begin(browser, { provider: "operators", callbackURL: "/jobs" });
    const query = Object.fromEntries(start.searchParams);
    expect(query).toMatchObject({
      response_type: "code",
      code_challenge_method: "S256",
      scope: "openid email profile",
    });
    expect([query["nonce"], query["state"]]).toEqual([
      expect.stringMatching(/.{32}/),
      expect.stringMatching(/.{32}/),
    ]);
    const callback = new URL(await idp.authorize(start.href));
    expect(locationOf(await browser.get(callback.pathname + callback.search))).toBe("/jobs");
    const { user } = expectData(await browser.get("/auth/session"));
    expect(user).toMatchObject({ email: operator.email, requires_two_factor: false, by_sso: true });
  });

  it("of an organisation's user goes through oidc-provider, is fresh, and stores no token", async () => {
    const { organization, member, callback } = await connect(idp.url);
    idp.serve([app.url + callback]);
    idp.person = { sub: "m-1", email: member.email.toUpperCase(), email_verified: true };
    await shared.database.query(sql`update user_account set role = 'owner' where id = ${member.id}::uuid`);
    const browser = createSessionClient(app);
    const start = await begin(browser, { provider: "organization", email: member.email });
    const answered = new URL(await idp.authorize(start.href));
    expect(locationOf(await browser.get(answered.pathname + answered.search))).toBe("/");
    expect(expectData(await browser.get("/auth/session")).organization.id).toBe(
      toTypedId("org", organization.id),
    );
    const rows = await shared.database.query(
      sql`select provider_id, account_id, password from user_credential where user_id = ${member.id}::uuid and password is null`,
    );
    expect(rows).toEqual([{ provider_id: organization.id, account_id: `${idp.url} m-1`, password: null }]);
    // Needs fresh authentication.
    const headers = { cookie: browser.cookie, origin: app.url };
    expect((await queryData(app, REMOVE, { headers })).removeSingleSignOn.userErrors).toEqual([]);
  });

  it("asks the provider for a new login to confirm the identity, and keeps the session", async () => {
    const { member } = await connect();
    const { browser } = await ssoSignIn(member);
    const { session_id: id } = expectData(await browser.get("/auth/session"));
    await app.database.query(
      sql`update user_session set authenticated_at = now() - interval '1 hour' where id = ${id}::uuid`,
    );
    const start = await begin(browser, { provider: "organization", email: member.email, confirm: true });
    expect(start.searchParams.get("prompt")).toBe("login");
    await answer(browser, start, member);
    expect(expectData(await browser.get("/auth/session"))).toMatchObject({ session_id: id });
    const rows = await app.database.query<{ fresh: boolean }>(sql`
      select authenticated_at > now() - interval '1 minute' as fresh from user_session where user_id = ${member.id}::uuid`);
    expect(rows).toEqual([{ fresh: true }]);
  });

  it.each([
    ["https://evil.example/", "/"],
    ["//evil.example/", "/"],
    ["/\\evil.example", "/"],
    ["/\t/evil.example", "/"],
    ["/.//evil.example", "/"],
    ["/jobs?next=//a#b", "/jobs?next=//a#b"],
  ])("asked to return to %j, opens %j", async (callbackURL, expected) => {
    const { member } = await connect();
    const browser = createSessionClient(app);
    const start = await begin(browser, { provider: "organization", email: member.email, callbackURL });
    expect(await answer(browser, start, member)).toBe(expected);
  });

  it("knows a linked user by the subject, also with another e-mail address at the provider", async () => {
    const { member, organization, domain } = await connect();
    const other = await userOf(organization.id, "owner", domain);
    await ssoSignIn({ sub: "s1", email: member.email });
    const renamed = await ssoSignIn(
      { sub: "s1", email: other.email, email_verified: false },
      { email: member.email },
    );
    expect(expectData(await renamed.browser.get("/auth/session")).user.email).toBe(member.email);
    expect((await actsOf(member.email)).at(-1)).toEqual({
      action: "session.opened",
      details: { single_sign_on: hostile.url, provider_email: other.email },
    });
    // Another person gets the first one's address.
    expect((await ssoSignIn({ sub: "s2", email: member.email })).location).toBe("/sign-in?error=sso_refused");
  });

  it("accepts clocks that differ by 20 seconds, and refuses five minutes", async () => {
    const { member } = await connect();
    const locations = [];
    for (const ageS of [-20, 20, -300, 300]) {
      hostile.forgery = { ageS, lifetimeS: 1 };
      locations.push((await ssoSignIn(member)).location);
    }
    expect(locations).toEqual([
      "/jobs?x=1",
      "/jobs?x=1",
      "/sign-in?error=sso_failed",
      "/sign-in?error=sso_failed",
    ]);
  });
});

describe("a refused sign-in", () => {
  it.each<[string, Forgery]>([
    ["another audience", { claims: { aud: "someone-else" } }],
    ["several audiences, for another party", { claims: { aud: [CLIENT.id, "other"], azp: "other" } }],
    ["another issuer", { claims: { iss: "https://evil.example" } }],
    ["another nonce", { claims: { nonce: "n" } }],
    ["no nonce", { claims: { nonce: undefined } }],
    ["an expired token", { ageS: 400 }],
    ["alg none", { algorithm: "none" }],
    ["the client's secret as key", { algorithm: "HS256" }],
    ["an unknown key", { kid: "k2" }],
  ])("has an ID token with %s", async (_title, forgery) => {
    const { member } = await connect();
    hostile.forgery = forgery;
    const { location, browser } = await ssoSignIn(member);
    expect(location).toBe("/sign-in?error=sso_failed");
    expectFailure(await browser.get("/auth/session"), 401);
  });

  it("has an unverified e-mail address, an unknown one, or one of another group", async () => {
    const { member, domain, organization } = await connect();
    const other = await connect();
    const foreign = await userOf(organization.id, "dispatcher");
    const at = { email: member.email };
    const refused = async (person: Claimed, options: object = at) =>
      (await ssoSignIn(person, options)).location;
    expect(await refused({ ...at, email_verified: false })).toBe("/sign-in?error=sso_email_unverified");
    expect(await refused({ ...at, email_verified: undefined })).toBe("/sign-in?error=sso_email_unverified");
    expect(await refused({ email: `unknown@${domain}` })).toBe("/sign-in?error=sso_refused");
    expect(await refused({ email: other.member.email })).toBe("/sign-in?error=sso_refused");
    // Of the organisation, but not of the domain that it has proven.
    expect(await refused({ email: foreign.email })).toBe("/sign-in?error=sso_refused");
    expect(await refused(at, { operator: true })).toBe("/sign-in?error=sso_refused");
    const acts = await eventually(async () => {
      const found = (await actsOf(member.email)).filter(({ action }) => action === "session.sign_in_failed");
      expect(found).toHaveLength(1);
      return found;
    });
    expect(acts[0]?.details).toEqual({ step: "single_sign_on", reason: "sso_refused", issuer: hostile.url });
  });

  it("lacks the claim that operators need", async () => {
    const operator = await userOf(null, "operator");
    idp.serve([`${strict.url}/auth/callback/operators`]);
    idp.person = { sub: operator.id, email: operator.email, email_verified: true, groups: ["staffing"] };
    const browser = createSessionClient(strict);
    const callback = new URL(await idp.authorize((await begin(browser, { provider: "operators" })).href));
    expect(locationOf(await browser.get(callback.pathname + callback.search))).toBe(
      "/sign-in?error=sso_refused",
    );
  });

  it("was begun by another browser, is answered twice, by another provider or not at all", async () => {
    const { member } = await connect();
    const second = await connect();
    const browser = createSessionClient(app);
    const body = { provider: "organization", email: member.email };
    const start = await begin(browser, body);
    expect(await answer(createSessionClient(app), start, member)).toBe("/sign-in?error=sso_expired");
    const elsewhere = new URL(start);
    elsewhere.searchParams.set("redirect_uri", app.url + second.callback);
    expect(await answer(browser, elsewhere, member)).toBe("/sign-in?error=sso_failed");
    expect(hostile.tokenRequests).toEqual([]);
    const again = await begin(browser, body);
    const { cookie } = browser;
    expect(await answer(browser, again, member)).toBe("/");
    expect(hostile.tokenRequests.map((form) => form.get("code_verifier")?.length)).toEqual([128]);
    expect(await answer(createSessionClient(app, cookie), again, member)).toBe("/sign-in?error=sso_expired");
    const cancelled = await begin(browser, body);
    const state = cancelled.searchParams.get("state");
    const answered = `${new URL(cancelled.searchParams.get("redirect_uri") ?? "").pathname}?state=${state}`;
    expect(locationOf(await browser.get(`${answered}&error=access_denied&error_description=%3Cb%3E`))).toBe(
      "/sign-in?error=sso_cancelled",
    );
    expect(locationOf(await browser.get(`${answered}&code=c`))).toBe("/sign-in?error=sso_expired");
    expect(locationOf(await browser.get("/auth/callback/unknown"))).toBe("/sign-in?error=sso_expired");
  });

  it("is of a suspended organisation", async () => {
    const { member, organization } = await connect();
    await ssoSignIn(member);
    await shared.membership.suspensions.suspend(cliAuditContext, toTypedId("org", organization.id), null);
    expect((await ssoSignIn(member)).location).toBe("/sign-in?error=sso_suspended");
  });

  it("has members that the library would take from the request", async () => {
    const { member } = await connect();
    for (const extra of [
      { idToken: { token: "x" } },
      { scopes: ["admin"] },
      { additionalData: { link: {} } },
    ])
      expectFailure(
        await createSessionClient(app).post("/auth/sign-in/social", {
          provider: "organization",
          email: member.email,
          ...extra,
        }),
        400,
      );
  });

  it("has the same answer for each domain without a proven connection", async () => {
    const organization = await shared.createOrganization("agent");
    const owner = await createSignedInUser(app, organization.id);
    const unproven = newDomain();
    await setSingleSignOn(owner, { domain: unproven });
    const answers = [];
    for (const domain of [unproven, newDomain(), "test.example"]) {
      const body = { provider: "organization", email: `a@${domain}` };
      const response = await createSessionClient(app).post("/auth/sign-in/social", body);
      expectFailure(response, 404);
      answers.push(response.body.error);
    }
    expect(new Set(answers.map((error) => JSON.stringify(error))).size).toBe(1);
  });
});

describe("a provider that is down", () => {
  it("leaves sessions alone, is explained, and works again without a restart", async () => {
    await using late = await startHostileIssuer();
    const { member } = await connect(late.url);
    const { browser } = await ssoSignIn((await connect()).member);
    const body = { provider: "organization", email: member.email };
    // Another process has not read the document yet.
    late.isDown = true;
    const other = createSessionClient(strict);
    expectFailure(await other.post("/auth/sign-in/social", body), 503);
    expectData(await browser.get("/auth/session"));
    late.isDown = false;
    expect((await begin(other, body)).origin).toBe(late.url);
    // Down after the user has signed in there.
    const start = await begin(browser, body);
    late.isDown = true;
    expect(await answer(browser, start, member)).toBe("/sign-in?error=sso_unavailable");
    expectData(await browser.get("/auth/session"));
  });
});

describe("a connection", () => {
  it("is shown without its secret, is recorded, and is the owners' alone", async () => {
    const { organization, owner, domain, member } = await connect();
    const { singleSignOn } = await owner.queryData(`{ singleSignOn { issuer clientId domain redirectUri } }`);
    const redirectUri = expect.stringMatching(new RegExp(`/auth/callback/${organization.id}$`));
    expect(singleSignOn).toEqual({ issuer: hostile.url, clientId: CLIENT.id, domain, redirectUri });
    const [row] = await shared.database.query<{ client_secret: string }>(
      sql`select client_secret from sso_connection where organization_id = ${organization.id}::uuid`,
    );
    expect(row?.client_secret).toMatch(/^s1\./);
    expect((await owner.queryData(REMOVE)).removeSingleSignOn.userErrors).toEqual([]);
    const acts = (await actsOf(owner.email))
      .map(({ action }) => action)
      .filter((name) => name.startsWith("sso."));
    expect(acts).toEqual(["sso.connected", "sso.changed", "sso.removed"]);
    const headers = { cookie: (await signIn(app, member)).cookie, origin: app.url };
    const { errors } = await graphql(app, REMOVE, { headers });
    expect(errors).toMatchObject([{ extensions: { code: "FORBIDDEN" } }]);
  });

  it("has one organisation per domain: the first that proves it", async () => {
    const first = await connect();
    const second = await createSignedInUser(app, (await shared.createOrganization("agent")).id);
    const taken = [
      { field: "input.domain", message: expect.stringContaining("belongs to another organisation") },
    ];
    expect((await setSingleSignOn(second, { domain: first.domain })).userErrors).toEqual(taken);
    const claimant = first.owner;
    const domain = newDomain();
    const records = [];
    for (const owner of [claimant, second])
      records.push((await setSingleSignOn(owner, { domain })).singleSignOn.verificationRecord);
    expect(new Set(records).size).toBe(2);
    expect((await verify(second)).userErrors[0].message).toContain("has no TXT record waymark-verification=");
    for (const [index, owner] of [second, claimant].entries()) {
      dns.set(domain, records[1 - index]);
      expect((await verify(owner)).userErrors.length).toBe(index);
    }
  });

  it("needs the secret for a new issuer, a public issuer, and one that its document names", async () => {
    const { owner, domain } = await connect();
    const set = async (input: object) => (await setSingleSignOn(owner, { domain, ...input })).userErrors;
    expect(await set({ clientSecret: null, clientId: "renamed" })).toEqual([]);
    await using moved = await startHostileIssuer();
    expect(await set({ issuer: moved.url, clientSecret: null })).toMatchObject([
      { field: "input.clientSecret" },
    ]);
    expect(await set({ issuer: `${moved.url}/` })).toMatchObject([
      { message: expect.stringContaining("exactly") },
    ]);
    expect(await set({ issuer: "http://169.254.169.254" })).toMatchObject([{ field: "input.issuer" }]);
    await using guarded = await startAppInstance(shared.databaseUrl, { ...ACCOUNT_ENV, LOG_LEVEL: "silent" });
    const [refused] = (
      await (
        await createSignedInUser(guarded, (await shared.createOrganization("agent")).id)
      ).queryData(SET, {
        input: { issuer: hostile.url, clientId: "c", clientSecret: "s", domain: newDomain() },
      })
    ).setSingleSignOn.userErrors;
    expect(refused.message).toContain("must begin with https://");
  });
});

describe("SSO_ONLY", () => {
  it("turns passwords off for operators and connected domains, and not for others", async () => {
    const { member, organization } = await connect();
    const other = await userOf(organization.id, "dispatcher");
    const operator = await userOf(null, "operator");
    const attempt = ({ email, password }: TestUser) =>
      createSessionClient(strict).post("/auth/sign-in/email", { email, password });
    for (const user of [member, operator]) {
      expectFailure(await attempt(user), 403);
      expectFailure(await attempt({ ...user, password: "a wrong password" }), 401);
      await createSessionClient(strict).post("/auth/password/forgotten", { email: user.email });
    }
    expectData(await attempt(other));
    await createSessionClient(strict).post("/auth/password/forgotten", { email: other.email });
    await eventually(async () => expect(await listMailsTo(shared, other.email)).toHaveLength(1));
    expect(await listMailsTo(shared, operator.email)).toEqual([]);
    const methods = await createSessionClient(strict).get("/auth/sign-in-methods");
    expect(expectData(methods)).toEqual({ single_sign_on: { operators: true, organizations: true } });
  });

  it("spares a user who recovers with the command line's link, for an hour", async () => {
    const operator = await userOf(null, "operator");
    const { database } = shared;
    const deps = { database, clock: systemClock, pageUrl: (path: string) => path };
    const { url } = await issueRecoveryLink(deps, cliAuditContext, operator.email);
    const token = url.slice(url.indexOf("=") + 1);
    const password = "a kestrel over the quarry";
    expectData(await createSessionClient(strict).post("/auth/password/reset", { token, password }));
    await signIn(strict, { ...operator, password });
    await database.query(
      sql`update user_account set password_allowed_until = now() where id = ${operator.id}::uuid`,
    );
    const again = { email: operator.email, password };
    expectFailure(await createSessionClient(strict).post("/auth/sign-in/email", again), 403);
  });
});
