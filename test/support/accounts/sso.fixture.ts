/** Two instances with single sign-on on a shared database, their identity providers, and the steps of a sign-in. */
import { randomBytes } from "node:crypto";
import { afterAll, beforeEach, expect } from "vitest";
import { sql } from "../../../src/core/postgres/sql.ts";
import type { UserRole } from "../../../src/organizations/user.entity.ts";
import { createSessionClient, createTestUser, type SessionClient, type TestUser } from "./session-client.ts";
import { createSignedInUser, type SignedInTestUser } from "./signed-in-user.ts";
import { CLIENT, startHostileIssuer, startOidcProvider } from "./identity-provider.ts";
import { ACCOUNT_ENV } from "./mails.ts";
import { expectData } from "../app/assertions.ts";
import { startAppInstance, type ApiResponse } from "../app/app-instance.ts";
import type { TestOrganization } from "../app/app.fixture.ts";
import { sharedApp } from "../app/shared-app.ts";

export const SET = `mutation ($input: SetSingleSignOnInput!) { setSingleSignOn(input: $input) {
  singleSignOn { issuer clientId domain redirectUri verificationRecord verifiedAt } userErrors { field message } } }`;
const VERIFY = `mutation { verifySingleSignOnDomain { singleSignOn { verifiedAt } userErrors { message } } }`;
export const REMOVE = `mutation { removeSingleSignOn { singleSignOn { issuer } userErrors { message } } }`;

export const newDomain = (): string => `${randomBytes(5).toString("hex")}.example`;

interface Connected {
  organization: TestOrganization;
  owner: SignedInTestUser;
  domain: string;
  member: TestUser;
  /** The path of the callback. */
  callback: string;
}

export interface Claimed {
  sub?: string;
  email: string;
  email_verified?: unknown;
}

/** Returns where a redirect leads. */
export function locationOf({ status, headers }: ApiResponse): string {
  expect(status).toBe(302);
  return headers.get("location") ?? "";
}

export const verify = async (owner: SignedInTestUser) =>
  (await owner.queryData(VERIFY)).verifySingleSignOnDomain;

/** Starts a sign-in, and returns the URL of the provider. */
export async function begin(browser: SessionClient, body: object): Promise<URL> {
  const { url } = expectData(await browser.post("/auth/sign-in/social", body));
  return new URL(url);
}

/**
 * Opens a fixture for the tests of a file. `app` has the hostile issuer for operators; `strict` has `oidc-provider`, and passwords
 * turned off. Before each test the hostile issuer is up and honest again.
 */
export async function openSsoFixture() {
  const shared = await sharedApp("api");
  const idp = await startOidcProvider();
  const hostile = await startHostileIssuer();
  /** TXT records by domain. */
  const dns = new Map<string, string>();
  const env = {
    ...ACCOUNT_ENV,
    LOG_LEVEL: "silent",
    WEBHOOK_ALLOW_PRIVATE: "on",
    OIDC_ISSUER: hostile.url,
    OIDC_CLIENT_ID: CLIENT.id,
    OIDC_CLIENT_SECRET: CLIENT.secret,
  };
  const resolveTxt = (domain: string) => Promise.resolve([[dns.get(domain) ?? "v=spf1 -all"]]);
  const app = await startAppInstance(shared.databaseUrl, env, { resolveTxt });
  const only = { REQUIRE_TWO_FACTOR: "all", SSO_ONLY: "all", OIDC_ROLE_CLAIM: "groups=staff" };
  const strict = await startAppInstance(
    shared.databaseUrl,
    { ...env, ...only, OIDC_ISSUER: idp.url },
    { resolveTxt },
  );

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

  async function setSingleSignOn(owner: SignedInTestUser, input: object) {
    const client = { issuer: hostile.url, clientId: CLIENT.id, clientSecret: CLIENT.secret };
    return (await owner.queryData(SET, { input: { ...client, ...input } })).setSingleSignOn;
  }

  /** Connects the owner's organisation. */
  async function proveDomain(owner: SignedInTestUser, domain: string, issuer = hostile.url) {
    const { singleSignOn } = await setSingleSignOn(owner, { issuer, domain });
    dns.set(domain, singleSignOn.verificationRecord);
    expect((await verify(owner)).userErrors).toEqual([]);
    return singleSignOn;
  }

  /** Connects a new organisation to the issuer and proves its domain. */
  async function connect(issuer = hostile.url): Promise<Connected> {
    const organization = await shared.createOrganization("agent");
    const owner = await createSignedInUser(app, organization.id);
    const domain = newDomain();
    const singleSignOn = await proveDomain(owner, domain, issuer);
    const member = await userOf(organization.id, "dispatcher", domain);
    return { organization, owner, domain, member, callback: new URL(singleSignOn.redirectUri).pathname };
  }

  /** Answers as the hostile issuer: `person` consents, and the ID token is `forgery`. */
  async function answer(browser: SessionClient, start: URL, person: Claimed): Promise<string> {
    const query = start.searchParams;
    hostile.person = { sub: person.email, email_verified: true, ...person } as typeof hostile.person;
    hostile.nonce = query.get("nonce") ?? "";
    const callback = new URL(query.get("redirect_uri") ?? "");
    return locationOf(await browser.get(`${callback.pathname}?code=c&state=${query.get("state")}`));
  }

  /** Answers as `oidc-provider`, which signs its person in. */
  async function answerAsProvider(browser: SessionClient, start: URL): Promise<string> {
    const { pathname, search } = new URL(await idp.authorize(start.href));
    return locationOf(await browser.get(pathname + search));
  }

  /** Signs in through the organisation's provider. Returns where the browser is sent, and the browser. */
  async function ssoSignIn(person: Claimed, { email = person.email, operator = false } = {}) {
    const browser = createSessionClient(app);
    const target = operator ? { provider: "operators" } : { provider: "organization", email };
    const start = await begin(browser, { ...target, callbackURL: "/jobs?x=1" });
    return { location: await answer(browser, start, person), browser };
  }

  beforeEach(() => void Object.assign(hostile, { isDown: false, forgery: {}, tokenRequests: [] }));
  afterAll(async () => {
    for (const opened of [app, strict, idp, hostile]) await opened[Symbol.asyncDispose]();
  });
  return {
    shared,
    app,
    strict,
    idp,
    hostile,
    dns,
    userOf,
    setSingleSignOn,
    proveDomain,
    connect,
    answer,
    answerAsProvider,
    ssoSignIn,
  };
}
