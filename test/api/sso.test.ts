/** Single sign-on with OpenID Connect: of operators (OIDC_ISSUER) and of organisations. */
import { describe, expect, it } from "vitest";
import { issueRecoveryLink } from "../../src/accounts/recovery.ts";
import { cliAuditContext } from "../../src/cli/context.ts";
import { systemClock } from "../../src/core/clock.ts";
import { toTypedId } from "../../src/core/ids.ts";
import { sql } from "../../src/core/postgres/sql.ts";
import * as accounts from "../support/accounts/accounts.fixture.ts";
import { CLIENT, type Forgery, startHostileIssuer } from "../support/accounts/identity-provider.ts";
import { ACCOUNT_ENV } from "../support/accounts/mails.ts";
import { createSignedInUser } from "../support/accounts/signed-in-user.ts";
import {
  begin,
  type Claimed,
  locationOf,
  newDomain,
  openSsoFixture,
  REMOVE,
  verify,
} from "../support/accounts/sso.fixture.ts";
import { startAppInstance } from "../support/app/app-instance.ts";
import { openTransaction, waitForBlockedSessions } from "../support/database/blocked-sessions.ts";
import { startFaultProxy, withoutBackground } from "../support/database/fault-proxy.ts";
import { eventually } from "../support/eventually.ts";
import { graphql, queryData } from "../support/graphql/client.ts";

const { createSessionClient, expectData, expectFailure, listMailsTo, signIn } = accounts;
const sso = await openSsoFixture();
const { auditOf } = await accounts.openAccounts();

const inSeconds = (seconds: number): number => Math.floor(Date.now() / 1000) + seconds;

describe("a sign-in", () => {
  it("of an operator goes through oidc-provider with PKCE, state and nonce, and needs no second factor", async () => {
    const operator = await sso.userOf(null, "operator");
    sso.idp.serve([`${sso.strict.url}/auth/callback/operators`]);
    sso.idp.person = {
      sub: "op-1",
      email: operator.email,
      email_verified: true,
      groups: ["drivers", "staff"],
    };
    const browser = createSessionClient(sso.strict);
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
    expect(await sso.answerAsProvider(browser, start)).toBe("/jobs");
    const { user } = expectData(await browser.get("/auth/session"));
    expect(user).toMatchObject({ email: operator.email, requires_two_factor: false, by_sso: true });
  });

  it("of an organisation's user goes through oidc-provider, is fresh, and stores no token", async () => {
    const { organization, member, callback } = await sso.connect(sso.idp.url);
    sso.idp.serve([sso.app.url + callback]);
    sso.idp.person = { sub: "m-1", email: member.email.toUpperCase(), email_verified: true };
    await sso.shared.database.query(
      sql`update user_account set role = 'owner' where id = ${member.id}::uuid`,
    );
    const browser = createSessionClient(sso.app);
    const start = await begin(browser, { provider: "organization", email: member.email });
    expect(await sso.answerAsProvider(browser, start)).toBe("/");
    expect(expectData(await browser.get("/auth/session")).organization.id).toBe(
      toTypedId("org", organization.id),
    );
    const rows = await sso.shared.database.query(
      sql`select provider_id, account_id, password from user_credential where user_id = ${member.id}::uuid and password is null`,
    );
    expect(rows).toEqual([
      { provider_id: organization.id, account_id: `${sso.idp.url} m-1`, password: null },
    ]);
    // Needs fresh authentication.
    const headers = { cookie: browser.cookie, origin: sso.app.url };
    expect((await queryData(sso.app, REMOVE, { headers })).removeSingleSignOn.userErrors).toEqual([]);
  });

  it("keeps the session if the provider confirms the identity, and replaces one that a password opened", async () => {
    const { member } = await sso.connect();
    const { browser } = await sso.ssoSignIn(member);
    const confirm = async (on: accounts.SessionClient): Promise<string> => {
      const former = on.cookie;
      const start = await begin(on, { provider: "organization", email: member.email, confirm: true });
      expect(start.searchParams.get("prompt")).toBe("login");
      await sso.answer(on, start, member);
      expect(expectData(await on.get("/auth/session")).user.by_sso).toBe(true);
      return former;
    };
    expectData(await createSessionClient(sso.app, await confirm(browser)).get("/auth/session"));
    expect((await auditOf(member.email)).at(-1)?.action).toBe("session.reauthenticated");
    const former = await confirm(await signIn(sso.app, member));
    expectFailure(await createSessionClient(sso.app, former).get("/auth/session"), 401);
  });

  it.each([
    ["https://evil.example/", "/"],
    ["//evil.example/", "/"],
    ["/\\evil.example", "/"],
    ["/\t/evil.example", "/"],
    ["/.//evil.example", "/"],
    ["/jobs?next=//a#b", "/jobs?next=//a#b"],
  ])("asked to return to %j, opens %j", async (callbackURL, expected) => {
    const { member } = await sso.connect();
    const browser = createSessionClient(sso.app);
    const start = await begin(browser, { provider: "organization", email: member.email, callbackURL });
    expect(await sso.answer(browser, start, member)).toBe(expected);
  });

  it("knows a linked user by the subject, also with another e-mail address at the provider", async () => {
    const { member, organization, domain } = await sso.connect();
    const other = await sso.userOf(organization.id, "owner", domain);
    await sso.ssoSignIn({ sub: "s1", email: member.email });
    const renamed = await sso.ssoSignIn(
      { sub: "s1", email: other.email, email_verified: false },
      { email: member.email },
    );
    expect(expectData(await renamed.browser.get("/auth/session")).user.email).toBe(member.email);
    expect((await auditOf(member.email)).at(-1)).toEqual({
      action: "session.opened",
      details: { single_sign_on: sso.hostile.url, provider_email: other.email },
    });
    // Another person gets the first one's address.
    expect((await sso.ssoSignIn({ sub: "s2", email: member.email })).location).toBe(
      "/sign-in?error=sso_refused",
    );
  });

  it.each([
    ["is five minutes ahead", { ageS: -299 }, true],
    ["is five minutes behind", { ageS: 299, lifetimeS: 10 }, true],
    ["is five minutes behind, with tokens that are five minutes old", { ageS: 595, lifetimeS: 600 }, true],
    ["sets nbf five minutes ahead", { claims: { nbf: inSeconds(299) } }, true],
    ["is six minutes ahead", { ageS: -360 }, false],
    ["is six minutes behind", { ageS: 360, lifetimeS: 10 }, false],
    ["is eleven minutes behind, with tokens of an hour", { ageS: 660, lifetimeS: 3_600 }, false],
    // Counted from when the file is read, which is minutes before the test on a busy machine.
    ["sets nbf half an hour ahead", { claims: { nbf: inSeconds(1_800) } }, false],
  ])("depends on the clock of a provider that %s", async (_title, forgery: Forgery, isAccepted) => {
    const { member } = await sso.connect();
    sso.hostile.forgery = forgery;
    const { location } = await sso.ssoSignIn(member);
    expect(location).toBe(isAccepted ? "/jobs?x=1" : "/sign-in?error=sso_clock");
  });
});

it("takes three statements to start, and at most eight to return a linked user", async () => {
  await using proxy = await startFaultProxy(sso.shared.databaseUrl);
  const env = { ...ACCOUNT_ENV, WEBHOOK_ALLOW_PRIVATE: "on" };
  await using counted = await startAppInstance(proxy.url, env);
  const { member } = await sso.connect();
  const counts = [];
  // The first sign-in links the user.
  for (let times = 0; times < 2; times += 1) {
    const browser = createSessionClient(counted);
    const beforeStart = proxy.statements.length;
    const start = await begin(browser, { provider: "organization", email: member.email });
    const beforeReturn = proxy.statements.length;
    expect(await sso.answer(browser, start, member)).toBe("/");
    const ofStart = withoutBackground(proxy.statements.slice(beforeStart, beforeReturn));
    counts.push([ofStart.length, withoutBackground(proxy.statements.slice(beforeReturn)).length]);
  }
  expect(counts.at(-1)).toEqual([3, 8]);
});

describe("a refused sign-in", () => {
  it.each<[string, Forgery]>([
    ["another audience", { claims: { aud: "someone-else" } }],
    ["several audiences, for another party", { claims: { aud: [CLIENT.id, "other"], azp: "other" } }],
    ["another issuer", { claims: { iss: "https://evil.example" } }],
    ["another nonce", { claims: { nonce: "n" } }],
    ["no nonce", { claims: { nonce: undefined } }],
    ["no time of issue", { claims: { iat: undefined } as never }],
    ["alg none", { algorithm: "none" }],
    ["the client's secret as key", { algorithm: "HS256" }],
    ["an unknown key", { kid: "k2" }],
  ])("has an ID token with %s", async (_title, forgery) => {
    const { member } = await sso.connect();
    sso.hostile.forgery = forgery;
    const { location, browser } = await sso.ssoSignIn(member);
    expect(location).toBe("/sign-in?error=sso_failed");
    expectFailure(await browser.get("/auth/session"), 401);
  });

  it("has an unverified e-mail address, an unknown one, or one of another group", async () => {
    const { member, domain, organization } = await sso.connect();
    const other = await sso.connect();
    const foreign = await sso.userOf(organization.id, "dispatcher");
    const at = { email: member.email };
    const refused = async (person: Claimed, options: object = at) =>
      (await sso.ssoSignIn(person, options)).location;
    expect(await refused({ ...at, email_verified: false })).toBe("/sign-in?error=sso_email_unverified");
    expect(await refused({ ...at, email_verified: undefined })).toBe("/sign-in?error=sso_email_unverified");
    expect(await refused({ email: `unknown@${domain}` })).toBe("/sign-in?error=sso_refused");
    expect(await refused({ email: other.member.email })).toBe("/sign-in?error=sso_refused");
    // Of the organisation, but not of the domain that it has proven.
    expect(await refused({ email: foreign.email })).toBe("/sign-in?error=sso_refused");
    expect(await refused(at, { operator: true })).toBe("/sign-in?error=sso_refused");
    const acts = await eventually(async () => {
      const found = (await auditOf(member.email)).filter(({ action }) => action === "session.sign_in_failed");
      expect(found).toHaveLength(1);
      return found;
    });
    expect(acts[0]?.details).toEqual({
      step: "single_sign_on",
      reason: "sso_refused",
      issuer: sso.hostile.url,
    });
  });

  it("lacks the claim that operators need", async () => {
    const operator = await sso.userOf(null, "operator");
    sso.idp.serve([`${sso.strict.url}/auth/callback/operators`]);
    sso.idp.person = { sub: operator.id, email: operator.email, email_verified: true, groups: ["staffing"] };
    const browser = createSessionClient(sso.strict);
    const start = await begin(browser, { provider: "operators" });
    expect(await sso.answerAsProvider(browser, start)).toBe("/sign-in?error=sso_refused");
  });

  it("was begun by another browser, is answered twice, by another provider or not at all", async () => {
    const { member } = await sso.connect();
    const second = await sso.connect();
    const browser = createSessionClient(sso.app);
    const body = { provider: "organization", email: member.email };
    const start = await begin(browser, body);
    expect(await sso.answer(createSessionClient(sso.app), start, member)).toBe("/sign-in?error=sso_expired");
    const elsewhere = new URL(start);
    elsewhere.searchParams.set("redirect_uri", sso.app.url + second.callback);
    expect(await sso.answer(browser, elsewhere, member)).toBe("/sign-in?error=sso_failed");
    expect(sso.hostile.tokenRequests).toEqual([]);
    const again = await begin(browser, body);
    const { cookie } = browser;
    expect(await sso.answer(browser, again, member)).toBe("/");
    expect(sso.hostile.tokenRequests.map((form) => form.get("code_verifier")?.length)).toEqual([128]);
    expect(await sso.answer(createSessionClient(sso.app, cookie), again, member)).toBe(
      "/sign-in?error=sso_expired",
    );
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
    const { member, organization } = await sso.connect();
    await sso.ssoSignIn(member);
    await sso.shared.membership.organizationChanges.suspend(
      cliAuditContext,
      toTypedId("org", organization.id),
      null,
    );
    expect((await sso.ssoSignIn(member)).location).toBe("/sign-in?error=sso_suspended");
  });

  it("has members that the library would take from the request", async () => {
    const { member } = await sso.connect();
    for (const extra of [
      { idToken: { token: "x" } },
      { scopes: ["admin"] },
      { additionalData: { link: {} } },
    ])
      expectFailure(
        await createSessionClient(sso.app).post("/auth/sign-in/social", {
          provider: "organization",
          email: member.email,
          ...extra,
        }),
        400,
      );
  });

  it("has the same answer for each domain without a proven connection", async () => {
    const organization = await sso.shared.createOrganization("agent");
    const owner = await createSignedInUser(sso.app, organization.id);
    const unproven = newDomain();
    await sso.setSingleSignOn(owner, { domain: unproven });
    const answers = [];
    for (const domain of [unproven, newDomain(), "test.example"]) {
      const body = { provider: "organization", email: `a@${domain}` };
      const response = await createSessionClient(sso.app).post("/auth/sign-in/social", body);
      expectFailure(response, 404);
      answers.push(response.body.error);
    }
    expect(new Set(answers.map((error) => JSON.stringify(error))).size).toBe(1);
  });
});

it("a provider that is down leaves sessions alone, is explained, and works again without a restart", async () => {
  await using late = await startHostileIssuer();
  const { member } = await sso.connect(late.url);
  const { browser } = await sso.ssoSignIn((await sso.connect()).member);
  const body = { provider: "organization", email: member.email };
  // Another process has not read the document yet.
  late.isDown = true;
  const other = createSessionClient(sso.strict);
  expectFailure(await other.post("/auth/sign-in/social", body), 503);
  expectData(await browser.get("/auth/session"));
  late.isDown = false;
  expect((await begin(other, body)).origin).toBe(late.url);
  // Down after the user has signed in there.
  const start = await begin(browser, body);
  late.isDown = true;
  expect(await sso.answer(browser, start, member)).toBe("/sign-in?error=sso_unavailable");
  expectData(await browser.get("/auth/session"));
});

describe("a connection", () => {
  it("is shown without its secret, is recorded, and is the owners' alone", async () => {
    const { organization, owner, domain, member } = await sso.connect();
    const { singleSignOn } = await owner.queryData(`{ singleSignOn { issuer clientId domain redirectUri } }`);
    const redirectUri = expect.stringMatching(new RegExp(`/auth/callback/${organization.id}$`));
    expect(singleSignOn).toEqual({ issuer: sso.hostile.url, clientId: CLIENT.id, domain, redirectUri });
    const [row] = await sso.shared.database.query<{ client_secret: string }>(
      sql`select client_secret from sso_connection where organization_id = ${organization.id}::uuid`,
    );
    expect(row?.client_secret).toMatch(/^s1\./);
    expect((await owner.queryData(REMOVE)).removeSingleSignOn.userErrors).toEqual([]);
    const acts = (await auditOf(owner.email))
      .map(({ action }) => action)
      .filter((name) => name.startsWith("sso."));
    expect(acts).toEqual(["sso.connected", "sso.changed", "sso.removed"]);
    const headers = { cookie: (await signIn(sso.app, member)).cookie, origin: sso.app.url };
    const { errors } = await graphql(sso.app, REMOVE, { headers });
    expect(errors).toMatchObject([{ extensions: { code: "FORBIDDEN" } }]);
  });

  it.each([
    ["removed", null],
    ["given another client", { clientId: "another" }],
    ["given another issuer", { issuer: "moved" }],
  ])("ends the sessions that it opened if it is %s, and no others", async (_title, change) => {
    await using moved = await startHostileIssuer();
    const { owner, member, domain } = await sso.connect();
    const [{ browser }, other] = [
      await sso.ssoSignIn(member),
      await sso.ssoSignIn((await sso.connect()).member),
    ];
    const withPassword = await signIn(sso.app, member);
    const issuer = change && "issuer" in change ? moved.url : sso.hostile.url;
    await (change ? sso.setSingleSignOn(owner, { domain, ...change, issuer }) : owner.queryData(REMOVE));
    expectFailure(await browser.get("/auth/session"), 401);
    for (const kept of [withPassword, owner.client, other.browser])
      expectData(await kept.get("/auth/session"));
    expect((await auditOf(owner.email)).at(-1)).toMatchObject({
      action: change ? "sso.changed" : "sso.removed",
      details: { sessions_ended: 1 },
    });
  });

  it.each([
    ["removed", null],
    ["given another client", { clientId: "another" }],
  ])("opens no session that lasts if it is %s during the sign-in", async (_title, change) => {
    const { owner, member, domain } = await sso.connect();
    const audit = await openTransaction(sso.shared.database, sql`lock table audit_entry in exclusive mode`);
    const ending = change
      ? sso.setSingleSignOn(owner, { domain, ...change, issuer: sso.hostile.url })
      : owner.queryData(REMOVE);
    // It has ended the sessions, and has not committed.
    await waitForBlockedSessions(sso.shared.database, 1);
    const signingIn = sso.ssoSignIn(member);
    await waitForBlockedSessions(sso.shared.database, 2);
    await audit.commit();
    await ending;
    expectFailure(await (await signingIn).browser.get("/auth/session"), 401);
    expectData(await owner.client.get("/auth/session"));
  });

  it("revives no session that has ended, when it is removed", async () => {
    const { owner, member } = await sso.connect();
    const browser = await signIn(sso.app, member);
    await sso.shared.database.query(
      sql`update user_session set epoch = gen_random_uuid() where user_id = ${member.id}::uuid`,
    );
    await owner.queryData(REMOVE);
    expectFailure(await browser.get("/auth/session"), 401);
  });

  it("keeps the sessions if only its secret or its domain changes", async () => {
    const { owner, member } = await sso.connect();
    const { browser } = await sso.ssoSignIn(member);
    await sso.setSingleSignOn(owner, { domain: newDomain() });
    expectData(await browser.get("/auth/session"));
    expect((await auditOf(owner.email)).at(-1)?.details).not.toHaveProperty("sessions_ended");
  });

  it("has one organisation per domain: the first that proves it", async () => {
    const first = await sso.connect();
    const second = await createSignedInUser(sso.app, (await sso.shared.createOrganization("agent")).id);
    const taken = [
      { field: "input.domain", message: expect.stringContaining("belongs to another organisation") },
    ];
    expect((await sso.setSingleSignOn(second, { domain: first.domain })).userErrors).toEqual(taken);
    const claimant = first.owner;
    const domain = newDomain();
    const records = [];
    for (const owner of [claimant, second])
      records.push((await sso.setSingleSignOn(owner, { domain })).singleSignOn.verificationRecord);
    expect(new Set(records).size).toBe(2);
    expect((await verify(second)).userErrors[0].message).toContain("has no TXT record waymark-verification=");
    for (const [index, owner] of [second, claimant].entries()) {
      sso.dns.set(domain, records[1 - index]);
      expect((await verify(owner)).userErrors.length).toBe(index);
    }
  });

  it("needs the secret for a new issuer, a public issuer, and one that its document names", async () => {
    const { owner, domain } = await sso.connect();
    const set = async (input: object) => (await sso.setSingleSignOn(owner, { domain, ...input })).userErrors;
    expect(await set({ clientSecret: null, clientId: "renamed" })).toEqual([]);
    await using moved = await startHostileIssuer();
    expect(await set({ issuer: moved.url, clientSecret: null })).toMatchObject([
      { field: "input.clientSecret" },
    ]);
    expect(await set({ issuer: `${moved.url}/` })).toMatchObject([
      { message: expect.stringContaining("exactly") },
    ]);
    expect(await set({ issuer: "http://169.254.169.254" })).toMatchObject([{ field: "input.issuer" }]);
    await using guarded = await startAppInstance(sso.shared.databaseUrl, ACCOUNT_ENV);
    const { id } = await sso.shared.createOrganization("agent");
    const outsider = await createSignedInUser(guarded, id);
    const [refused] = (await sso.setSingleSignOn(outsider, { domain: newDomain() })).userErrors;
    expect(refused.message).toContain("must begin with https://");
  });
});

const attempt = ({ email, password }: accounts.Credentials) =>
  createSessionClient(sso.strict).post("/auth/sign-in/email", { email, password });

describe("SSO_ONLY", () => {
  it("turns passwords off for operators and connected domains, and not for others", async () => {
    const { member, organization } = await sso.connect();
    const other = await sso.userOf(organization.id, "dispatcher");
    const operator = await sso.userOf(null, "operator");
    const forget = ({ email }: accounts.TestUser) =>
      createSessionClient(sso.strict).post("/auth/password/forgotten", { email });
    for (const user of [member, operator]) {
      expectFailure(await attempt(user), 403);
      expectFailure(await attempt({ ...user, password: "a wrong password" }), 401);
      await forget(user);
    }
    expectData(await attempt(other));
    await forget(other);
    await eventually(async () => expect(await listMailsTo(sso.shared, other.email)).toHaveLength(1));
    expect(await listMailsTo(sso.shared, operator.email)).toEqual([]);
    const methods = await createSessionClient(sso.strict).get("/auth/sign-in-methods");
    expect(expectData(methods)).toEqual({ single_sign_on: { operators: true, organizations: true } });
  });

  it("spares a user who recovers with the command line's link, for an hour", async () => {
    const operator = await sso.userOf(null, "operator");
    const { database } = sso.shared;
    const deps = { database, clock: systemClock, pageUrl: (path: string) => path };
    const { url } = await issueRecoveryLink(deps, cliAuditContext, operator.email);
    const token = url.slice(url.indexOf("=") + 1);
    const password = "a kestrel over the quarry";
    expectData(await createSessionClient(sso.strict).post("/auth/password/reset", { token, password }));
    await signIn(sso.strict, { ...operator, password });
    await database.query(
      sql`update user_account set password_allowed_until = now() where id = ${operator.id}::uuid`,
    );
    expectFailure(await attempt({ ...operator, password }), 403);
  });
});
