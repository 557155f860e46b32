import { randomBytes } from "node:crypto";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import { revokeSessions } from "../../src/accounts/user.service.ts";
import { sql } from "../../src/core/postgres/sql.ts";
import * as accounts from "../support/accounts/accounts.fixture.ts";
import { ACCOUNT_ENV } from "../support/accounts/mails.ts";
import { startAppInstance, type ApiResponse } from "../support/app/app-instance.ts";
import { startFaultProxy, withoutBackground } from "../support/database/fault-proxy.ts";
import { eventually } from "../support/eventually.ts";
import { createFakeClock, HOUR_MS, MINUTE_MS } from "../support/fake-clock.ts";
import { suspend } from "../support/app/suspend.ts";

const { createSessionClient, credentialsOf, expectData, expectFailure } = accounts;
const { app, agent, newUser, newSecuredUser, post, signIn, trySignIn, isSignedIn, actsOf } =
  await accounts.openAccounts();
const WRONG = "not my password";

const clock = createFakeClock();
/** Another process on the same database, with this clock. */
const other = await startAppInstance(app.databaseUrl, ACCOUNT_ENV, { clock });
const owner = await newUser("owner");
// Sessions start at the system's time.
afterEach(() => clock.advance(Date.now() - clock.now()));
afterAll(() => other[Symbol.asyncDispose]());

/** Returns the number of computed password hashes. */
async function hashesCounted(): Promise<number> {
  const { text } = await app.request("/metrics");
  return Number(/^waymark_password_hashes_total (\d+)$/m.exec(text)?.[1] ?? 0);
}

const sessionOf = async (user: accounts.Credentials) =>
  expectData(await (await signIn(user)).get("/auth/session"));
const withCookie = (cookie: string) => createSessionClient(app, cookie).get("/auth/session");

describe("200", () => {
  it("signs in, returns the user, and signs out", async () => {
    const browser = await signIn(owner);
    const scopes = ["jobs:read", "jobs:write", "webhooks:manage", "keys:manage"];
    expect(expectData(await browser.get("/auth/session"))).toEqual({
      user: {
        id: expect.stringMatching(/^usr_/),
        name: owner.name,
        email: owner.email,
        role: "owner",
        has_two_factor: false,
        requires_two_factor: false,
        by_sso: false,
        has_passkeys: false,
      },
      organization: {
        id: expect.stringMatching(/^org_/),
        name: agent.name,
        type: "agent",
        time_zone: "UTC",
        can_import_jobs: false,
      },
      viewed: null,
      scopes,
      test_scopes: scopes,
      session_id: expect.any(String),
      expires_at: expect.any(String),
    });
    const { cookie } = browser;
    expectData(await browser.post("/auth/sign-out"));
    expect(browser.cookie).not.toContain("__Host-waymark_session");
    expectFailure(await withCookie(cookie), 401, "not signed in");
    expectFailure(await createSessionClient(app).post("/auth/sign-out"), 401);
  });

  it("returns fewer scopes for a dispatcher", async () => {
    expect((await sessionOf(await newUser())).scopes).toEqual(["jobs:read", "jobs:write"]);
  });

  it("accepts the e-mail address in any case, with spaces, and an internationalised domain in either form", async () => {
    const { id, password } = await newUser();
    const name = randomBytes(6).toString("hex");
    const email = `${name}@xn--mnchen-3ya.example`;
    await app.database.query(sql`update user_account set email = ${email} where id = ${id}`);
    for (const given of [`${name}@münchen.example`, `  ${email.toUpperCase()} `])
      expectData(await trySignIn({ email: given, password }));
  });

  // evidence: session-cookie-attributes
  it("sets an HttpOnly, host-only, SameSite cookie", async () => {
    const [text = "", ...others] = (await trySignIn(owner)).headers.getSetCookie();
    expect(others).toEqual([expect.stringMatching(/^__Host-waymark_browser_/)]);
    expect(text).toMatch(/^__Host-waymark_session=[\w%.-]{60,200}; /);
    expect(new Set(text.split("; ").slice(1))).toEqual(
      new Set(["Max-Age=2592000", "Path=/", "HttpOnly", "Secure", "SameSite=Lax"]),
    );
  });

  // evidence: sign-in-audited
  it("is recorded in the audit log", async () => {
    const user = await newUser();
    expectFailure(await trySignIn({ ...user, password: WRONG }), 401);
    const browser = await signIn(user);
    expectData(await browser.post("/auth/sign-out"));
    const acts = ["session.sign_in_failed", "session.opened", "session.closed"];
    await eventually(async () => expect(new Set(await actsOf(user.email))).toEqual(new Set(acts)));
  });

  it("takes at most eight statements, and each request with a session one", async () => {
    await using proxy = await startFaultProxy(app.databaseUrl);
    await using counted = await startAppInstance(proxy.url, { ...ACCOUNT_ENV });
    const user = await newUser();
    // The first request loads caches.
    await accounts.signIn(counted, await newUser());
    const [start, browser] = [proxy.statements.length, createSessionClient(counted)];
    expectData(await browser.post("/auth/sign-in/email", credentialsOf(user)));
    const ofSignIn = withoutBackground(proxy.statements.slice(start));
    // Saves when the user was last seen.
    expectData(await browser.get("/auth/session"));
    const later = proxy.statements.length;
    expectData(await browser.get("/auth/session"));
    // The page also learns whether the user has passkeys.
    const ofPage = withoutBackground(proxy.statements.slice(later)).filter(
      (text) => !text.includes("user_passkey"),
    );
    expect(ofPage).toHaveLength(1);
    expect(ofSignIn.length).toBeLessThanOrEqual(8);
  });
});

describe("session fixation is prevented", () => {
  // evidence: session-new-per-sign-in
  it("each sign-in creates a new session, even if the request has another user's session cookie", async () => {
    const planted = (await signIn(await newUser())).cookie;
    const browser = createSessionClient(app, planted);
    expectData(await browser.post("/auth/sign-in/email", credentialsOf(owner)));
    expect(expectData(await browser.get("/auth/session")).user.email).toBe(owner.email);
    expectFailure(await withCookie(planted), 401);
  });

  // evidence: session-token-signed
  it("an unknown session, or a stored token without our signature, is not adopted", async () => {
    await signIn(owner);
    const [row] = await app.database.query<{ token: string }>(
      sql`select token from user_session where user_id = ${owner.id}::uuid limit 1`,
    );
    const signature = Buffer.alloc(32).toString("base64");
    const forged = [row!.token, "a".repeat(32)].map((token) => encodeURIComponent(`${token}.${signature}`));
    for (const value of [...forged, "a", "", "%", "a.b", `${"x".repeat(5000)}.y`])
      expectFailure(await withCookie(`__Host-waymark_session=${value}`), 401);
  });
});

describe("401", () => {
  // evidence: sign-in-unknown-account-identical
  it("is the same for an unknown e-mail address and a wrong password, and costs a hash for both", async () => {
    const before = await hashesCounted();
    const wrong = await trySignIn({ ...owner, password: WRONG });
    const between = await hashesCounted();
    const unknown = await trySignIn({ email: `unknown.${owner.email}`, password: WRONG });
    expectFailure(wrong, 401, "The e-mail address or password is wrong");
    expect(accounts.withoutRequestId(unknown)).toEqual(accounts.withoutRequestId(wrong));
    expect([between - before, (await hashesCounted()) - between]).toEqual([1, 1]);
  });

  it.each([
    ...["no e-mail", "a@b", "@", "a\0@test.example", "x".repeat(3000)].map((email) => ({ email })),
    ...["x".repeat(129), "x".repeat(10_000)].map((password) => ({ password })),
  ])("for impossible credentials: %j", async (change) => {
    expectFailure(await trySignIn({ ...owner, ...change }), 401, "address or password");
  });

  // evidence: session-idle-timeout
  it("when the session was unused for twelve hours", async () => {
    const browser = await accounts.signIn(other, owner);
    for (let used = 0; used < 2; used += 1) {
      clock.advance(12 * HOUR_MS - MINUTE_MS);
      expectData(await browser.get("/auth/session"));
    }
    clock.advance(12 * HOUR_MS);
    expectFailure(await browser.get("/auth/session"), 401, "has ended");
  });

  // evidence: session-absolute-timeout
  it("when the session is thirty days old, even if in use", async () => {
    const user = await newUser();
    const browser = await accounts.signIn(other, user);
    const { expires_at: expiresAt } = expectData(await browser.get("/auth/session"));
    // As if it had been in constant use.
    await app.database.query(
      sql`update user_session set last_seen_at = expires_at where user_id = ${user.id}::uuid`,
    );
    clock.advance(Date.parse(expiresAt) - clock.now() - 1);
    expectData(await browser.get("/auth/session"));
    clock.advance(1);
    expectFailure(await browser.get("/auth/session"), 401, "has ended");
  });

  // evidence: two-factor-enrollment-ends-partial-sign-in
  it.each([false, true])(
    "for a sign-in that was in progress when the user's sessions were revoked, with two-factor authentication: %s",
    async (isSecured) => {
      const [user, secured] = isSecured ? [null, await newSecuredUser()] : [await newUser(), null];
      const { id, ...credentials } = user ?? secured;
      const thief = createSessionClient(app);
      // Every change of a password and of two-factor authentication does this, and commits after the sign-in.
      await app.database.transaction(async (tx) => {
        await revokeSessions(tx, id);
        expectData(await thief.post("/auth/sign-in/email", credentialsOf(credentials)));
      });
      if (secured) {
        const code = accounts.totpCode(secured.uri, 1);
        expectFailure(await thief.post("/auth/two-factor/verify-totp", { code }), 401);
      }
      expect(await isSignedIn(thief)).toBe(false);
    },
  );
});

describe("403", () => {
  // evidence: suspension-stops-sign-in
  it("immediately when the organisation is suspended, also for a sign-in in progress, until it is restored", async () => {
    const partner = await app.createOrganization("contractor");
    const user = await newUser("owner", partner.id);
    const [browser, late] = [await signIn(user), createSessionClient(app)];
    await app.database.transaction(async (tx) => {
      await tx.query(sql`update user_account set epoch = gen_random_uuid() where id = ${user.id}::uuid`);
      expectData(await late.post("/auth/sign-in/email", credentialsOf(user)));
    });
    expect(await isSignedIn(late)).toBe(false);
    const again = await signIn(user);
    await suspend(app.database, partner.id);
    expectFailure(await again.get("/auth/session"), 403, "suspended");
    const refused = await trySignIn(user);
    expectFailure(refused, 403, "suspended");
    expect(refused.headers.getSetCookie()).toEqual([]);
    // The suspension is revealed only to those who know the password.
    expectFailure(await trySignIn({ ...user, password: WRONG }), 401, "address or password");
    await suspend(app.database, partner.id, false);
    expect([await isSignedIn(browser), await isSignedIn(again)]).toEqual([false, true]);
  });

  it.each([
    ["another site", { origin: "https://evil.example" }],
    ["a page of another port", { origin: "http://127.0.0.1:1" }],
    ["a file or a sandbox", { origin: "null" }],
    ["an unknown origin", {}],
    ["another site with a forged origin", { "sec-fetch-site": "cross-site", origin: app.url }],
    ["another subdomain of the same site", { "sec-fetch-site": "same-site", origin: app.url }],
  ])("for a request from %s, and nothing is done", async (_, from: Record<string, string>) => {
    const { cookie } = await signIn(owner);
    const send = (path: string, method = "POST", body: object = {}) =>
      app.call(path, { method, headers: { ...from, cookie }, body: JSON.stringify(body) });
    expectFailure(await send("/auth/sign-out"), 403, "page of this site");
    const signedIn = await send("/auth/sign-in/email", "POST", credentialsOf(owner));
    expectFailure(signedIn, 403);
    expect(signedIn.headers.getSetCookie()).toEqual([]);
    expectFailure(await send("/auth/sessions", "DELETE"), 403);
    expectData(await withCookie(cookie));
  });

  it.each([
    ["http://console.example", 403],
    ["https://console.example", 200],
    ["http://localhost", 200],
  ])(
    "for a sign-in over plain HTTP, as browsers would not store its cookie: %s",
    async (publicUrl, status) => {
      await using site = await startAppInstance(app.databaseUrl, { ...ACCOUNT_ENV, PUBLIC_URL: publicUrl });
      const from = (origin: string) =>
        site.call("/auth/sign-in/email", {
          method: "POST",
          body: JSON.stringify(credentialsOf(owner)),
          headers: { origin },
        });
      const answer = await from(publicUrl);
      if (status === 403) expectFailure(answer, 403, "with https");
      expect(answer.headers.getSetCookie()).toHaveLength(status === 200 ? 2 : 0);
      // A page with the right host and the wrong protocol.
      if (publicUrl.startsWith("https:"))
        expectFailure(await from("http://console.example"), 403, "page of this");
    },
  );

  // evidence: cors-never-with-cookies
  it("CORS never lets another origin read responses to requests with a cookie", async () => {
    const env = { ...ACCOUNT_ENV, CORS_ORIGINS: "https://app.example" };
    await using open = await startAppInstance(app.databaseUrl, env);
    const answer = await open.request("/auth/session", { headers: { origin: "https://app.example" } });
    expect(answer.get("access-control-allow-credentials")).toBeUndefined();
  });
});

it.each([{}, { email: 1, password: ["x"] }])("returns 400 for %j", async (body) => {
  expectFailure(await post("/auth/sign-in/email", body), 400);
});

describe("429 with Retry-After", () => {
  // evidence: sign-in-throttle-per-account
  it("after ten wrong passwords for an account across all processes, even for the right password", async () => {
    const user = await newUser();
    const headers = accounts.randomClientIpHeader();
    const attempt = (index: number, password: string): Promise<ApiResponse> =>
      createSessionClient(index % 2 === 0 ? app : other).call("/auth/sign-in/email", {
        method: "POST",
        body: JSON.stringify({ email: user.email, password }),
        headers,
      });
    for (let index = 0; index < 10; index += 1) expectFailure(await attempt(index, `${WRONG} ${index}`), 401);
    for (const index of [0, 1]) {
      const answer = await attempt(index, user.password);
      expectFailure(answer, 429, "Too many attempts");
      const retryAfterS = Number(answer.headers.get("retry-after"));
      expect(retryAfterS).toBeGreaterThan(0);
      expect(retryAfterS).toBeLessThanOrEqual(60);
    }
    // Other accounts are not affected.
    expectData(await trySignIn(owner));
  });

  // evidence: sign-in-throttle-no-hash
  it("costs no hash, for existing and unknown accounts", async () => {
    const unknown = { email: `unknown.${owner.email}`, password: "some password" };
    const headers = accounts.randomClientIpHeader();
    for (let index = 0; index < 10; index += 1) expectFailure(await trySignIn(unknown, headers), 401);
    const before = await hashesCounted();
    for (let index = 0; index < 2; index += 1) expectFailure(await trySignIn(unknown, headers), 429);
    expect(await hashesCounted()).toBe(before);
  });

  // evidence: sign-in-throttle-all-attempts
  it("after a hundred sign-ins in a row even with the right password, as each costs a hash", async () => {
    const user = await newUser();
    const headers = accounts.randomClientIpHeader();
    // More than the wrong passwords that are allowed.
    for (let index = 0; index < 15; index += 1) expectData(await trySignIn(user, headers));
    while (await app.accounts.throttle.tryTake(["sign-in-total-account", user.email])) continue;
    expectFailure(await trySignIn(user), 429);
  });
});
