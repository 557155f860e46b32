import { randomBytes } from "node:crypto";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { sql } from "../../src/core/postgres/sql.ts";
import {
  createTestUser,
  createSessionClient,
  signIn,
  type TestUser,
} from "../support/accounts/session-client.ts";
import { ACCOUNT_ENV, randomClientIpHeader } from "../support/accounts/mails.ts";
import { expectData, expectFailure, withoutRequestId } from "../support/app/assertions.ts";
import { createFakeClock, HOUR_MS, MINUTE_MS, type FakeClock } from "../support/fake-clock.ts";
import { startAppInstance, type ApiResponse, type AppInstance } from "../support/app/app-instance.ts";
import type { TestOrganization } from "../support/app/app.fixture.ts";
import { sharedApp, type SharedApp } from "../support/app/shared-app.ts";
import { openTransaction } from "../support/database/blocked-sessions.ts";
import { eventually } from "../support/eventually.ts";

let app: SharedApp;
/** Another process on the same database. */
let other: AppInstance;
/** The other process's clock. */
let clock: FakeClock;
let agent: TestOrganization;
let owner: TestUser;

beforeAll(async () => {
  clock = createFakeClock();
  app = await sharedApp("api");
  other = await startAppInstance(app.databaseUrl, ACCOUNT_ENV, { clock });
  agent = await app.createOrganization("agent");
  owner = await createTestUser(app, { organizationId: agent.id, role: "owner" });
});
// Sessions start at the system's time.
afterEach(() => clock.advance(Date.now() - clock.now()));
afterAll(() => other[Symbol.asyncDispose]());

function trySignIn(email: string, password: string): Promise<ApiResponse> {
  return createSessionClient(app).post("/auth/sign-in/email", { email, password });
}

/** Returns the number of computed password hashes. */
async function hashesCounted(): Promise<number> {
  const text = (await app.request("/metrics")).text;
  return Number(/^waymark_password_hashes_total (\d+)$/m.exec(text)?.[1] ?? 0);
}

async function actsOf(email: string): Promise<string[]> {
  const rows = await app.database.query<{ action: string }>(
    sql`select action from audit_entry where actor = ${email} or subject = ${email} order by id`,
  );
  return rows.map(({ action }) => action);
}

describe("200", () => {
  it("sets the user's last use at the first request", async () => {
    const person = await createTestUser(app, { organizationId: agent.id, role: "dispatcher" });
    const browser = await signIn(other, person);
    expectData(await browser.get("/auth/session"));
    const [seen] = await app.database.query<{ at: string }>(
      sql`select to_json(last_seen_at) as at from user_account where id = ${person.id}::uuid`,
    );
    expect(Date.parse(seen?.at ?? "")).toBe(clock.now());
  });

  it("signs in, returns the user, and signs out", async () => {
    const browser = await signIn(app, owner);
    expect(expectData(await browser.get("/auth/session"))).toEqual({
      user: {
        id: expect.stringMatching(/^usr_/),
        name: owner.name,
        email: owner.email,
        role: "owner",
        has_two_factor: false,
        requires_two_factor: false,
        by_sso: false,
      },
      organization: { id: expect.stringMatching(/^org_/), name: agent.name, type: "agent" },
      scopes: ["jobs:read", "jobs:write", "webhooks:manage", "keys:manage"],
      test_scopes: ["jobs:read", "jobs:write", "webhooks:manage", "keys:manage"],
      session_id: expect.any(String),
      expires_at: expect.any(String),
    });
    const { cookie } = browser;
    expectData(await browser.post("/auth/sign-out"));
    expect(browser.cookie).not.toContain("__Host-waymark_session");
    expectFailure(await createSessionClient(app, cookie).get("/auth/session"), 401);
  });

  it("returns fewer scopes for a member, and no organisation for an operator", async () => {
    const member = await createTestUser(app, { organizationId: agent.id, role: "dispatcher" });
    const operator = await createTestUser(app, { organizationId: null, role: "operator" });
    const sessionOf = async (person: TestUser) =>
      expectData(await (await signIn(app, person)).get("/auth/session"));
    expect((await sessionOf(member)).scopes).toEqual(["jobs:read", "jobs:write"]);
    expect(await sessionOf(operator)).toMatchObject({
      user: { role: "operator" },
      organization: null,
      scopes: ["jobs:read", "jobs:write", "webhooks:manage", "keys:manage"],
    });
  });

  it("accepts the e-mail address in any case, with spaces around it", async () => {
    expectData(await trySignIn(`  ${owner.email.toUpperCase()} `, owner.password));
  });

  it("accepts an internationalised domain in either form", async () => {
    const person = await createTestUser(app, { organizationId: agent.id, role: "dispatcher" });
    const name = randomBytes(6).toString("hex");
    await app.database.query(
      sql`update user_account set email = ${`${name}@xn--mnchen-3ya.example`} where id = ${person.id}`,
    );
    for (const email of [`${name}@münchen.example`, `${name.toUpperCase()}@XN--mnchen-3ya.example`])
      expectData(await trySignIn(email, person.password));
  });

  // evidence: session-cookie-attributes
  it("sets an HttpOnly, host-only, SameSite cookie", async () => {
    const [text = "", ...others] = (await trySignIn(owner.email, owner.password)).headers.getSetCookie();
    expect(others).toEqual([expect.stringMatching(/^__Host-waymark_browser_/)]);
    const [pair, ...attributes] = text.split("; ");
    expect(pair).toMatch(/^__Host-waymark_session=[\w%.-]{60,200}$/);
    expect(new Set(attributes)).toEqual(
      new Set(["Max-Age=2592000", "Path=/", "HttpOnly", "Secure", "SameSite=Lax"]),
    );
  });

  // evidence: sign-in-audited
  it("is recorded in the audit log", async () => {
    const person = await createTestUser(app, { organizationId: agent.id, role: "dispatcher" });
    expectFailure(await trySignIn(person.email, "not my password"), 401);
    const browser = await signIn(app, person);
    expectData(await browser.post("/auth/sign-out"));
    await eventually(async () =>
      expect(new Set(await actsOf(person.email))).toEqual(
        new Set(["session.sign_in_failed", "session.opened", "session.closed"]),
      ),
    );
  });
});

describe("session fixation", () => {
  // evidence: session-new-per-sign-in
  it("is prevented: each sign-in creates a new session, even if the request has a session cookie", async () => {
    const planted = (await signIn(app, owner)).cookie;
    const browser = createSessionClient(app, planted);
    expectData(await browser.post("/auth/sign-in/email", { email: owner.email, password: owner.password }));
    expect(browser.cookie).not.toBe(planted);
    expectData(await browser.get("/auth/session"));
    // The previous, possibly planted, session is useless.
    expectFailure(await createSessionClient(app, planted).get("/auth/session"), 401);
  });

  it("is prevented: an unknown session is not adopted", async () => {
    const made = encodeURIComponent(`${"a".repeat(32)}.${Buffer.alloc(32).toString("base64")}`);
    for (const value of [made, "a", "", "%", "a.b", `${"x".repeat(5000)}.y`]) {
      const browser = createSessionClient(app, `__Host-waymark_session=${value}`);
      expectFailure(await browser.get("/auth/session"), 401);
    }
  });

  // evidence: session-token-signed
  it("is prevented: a stored token without our signature is rejected", async () => {
    await signIn(app, owner);
    const [row] = await app.database.query<{ token: string }>(
      sql`select token from user_session where user_id = ${owner.id}::uuid limit 1`,
    );
    const forged = encodeURIComponent(`${row!.token}.${Buffer.alloc(32).toString("base64")}`);
    expectFailure(
      await createSessionClient(app, `__Host-waymark_session=${forged}`).get("/auth/session"),
      401,
    );
  });
});

describe("401", () => {
  // evidence: sign-in-unknown-account-identical
  it("is the same for an unknown e-mail address and a wrong password, and costs a hash for both", async () => {
    const before = await hashesCounted();
    const wrong = await trySignIn(owner.email, "not my password at all");
    const between = await hashesCounted();
    const unknown = await trySignIn(`unknown.${owner.email}`, "not my password at all");
    expectFailure(wrong, 401, "The e-mail address or password is wrong");
    expect(withoutRequestId(unknown)).toEqual(withoutRequestId(wrong));
    expect([between - before, (await hashesCounted()) - between]).toEqual([1, 1]);
  });

  it.each(["no e-mail", "a@b", "@", "a@test.example\n", "x".repeat(3000)])(
    "for %j as e-mail address",
    async (email) => {
      expectFailure(await trySignIn(email, owner.password), 401, "address or password");
    },
  );

  it.each(["x".repeat(129), "x".repeat(10_000)])(
    "for a password over the maximum length",
    async (password) => {
      expectFailure(await trySignIn(owner.email, password), 401, "address or password");
    },
  );

  it("without a session", async () => {
    expectFailure(await createSessionClient(app).get("/auth/session"), 401, "not signed in");
    expectFailure(await createSessionClient(app).post("/auth/sign-out"), 401);
  });

  // evidence: session-idle-timeout
  it("when the session was unused for twelve hours", async () => {
    const browser = await signIn(other, owner);
    clock.advance(12 * HOUR_MS - MINUTE_MS);
    expectData(await browser.get("/auth/session"));
    clock.advance(12 * HOUR_MS - MINUTE_MS);
    expectData(await browser.get("/auth/session"));
    clock.advance(12 * HOUR_MS);
    expectFailure(await browser.get("/auth/session"), 401, "has ended");
  });

  // evidence: session-absolute-timeout
  it("when the session is thirty days old, even if in use", async () => {
    const person = await createTestUser(app, { organizationId: agent.id, role: "dispatcher" });
    const browser = await signIn(other, person);
    const { expires_at: expiresAt } = expectData(await browser.get("/auth/session"));
    // As if it had been in constant use.
    await app.database.query(
      sql`update user_session set last_seen_at = expires_at where user_id = ${person.id}::uuid`,
    );
    clock.advance(Date.parse(expiresAt) - clock.now() - 1);
    expectData(await browser.get("/auth/session"));
    clock.advance(1);
    expectFailure(await browser.get("/auth/session"), 401, "has ended");
  });

  it("immediately when the user is removed", async () => {
    const member = await createTestUser(app, { organizationId: agent.id, role: "dispatcher" });
    const browser = await signIn(app, member);
    expectData(await browser.get("/auth/session"));
    await app.database.query(sql`delete from user_account where id = ${member.id}`);
    expectFailure(await browser.get("/auth/session"), 401);
    expectFailure(await trySignIn(member.email, member.password), 401, "address or password");
  });
});

describe("403", () => {
  it("immediately when the organisation is suspended, also for a new sign-in, until it is restored", async () => {
    const partner = await app.createOrganization("contractor");
    const person = await createTestUser(app, { organizationId: partner.id, role: "owner" });
    const browser = await signIn(app, person);
    expectData(await browser.get("/auth/session"));
    await app.keys.setSuspended(partner.id, true);
    expectFailure(await browser.get("/auth/session"), 403, "suspended");
    const refused = await trySignIn(person.email, person.password);
    expectFailure(refused, 403, "suspended");
    expect(refused.headers.getSetCookie()).toEqual([]);
    // The suspension is revealed only to those who know the password.
    expectFailure(await trySignIn(person.email, "not my password"), 401, "address or password");
    await app.keys.setSuspended(partner.id, false);
    expectData(await browser.get("/auth/session"));
  });

  // evidence: suspension-stops-sign-in
  it("for a sign-in in progress when the organisation is suspended, and leaves no session", async () => {
    const partner = await app.createOrganization("contractor");
    const person = await createTestUser(app, { organizationId: partner.id, role: "owner" });
    const suspension = await openTransaction(
      app.database,
      sql`update organization set suspended_at = now() where id = ${partner.id}::uuid`,
      sql`update user_account set epoch = gen_random_uuid() where id = ${person.id}::uuid`,
      sql`delete from user_session where user_id = ${person.id}::uuid`,
    );
    const browser = await signIn(app, person);
    await suspension.commit();
    await app.keys.setSuspended(partner.id, false);
    expectFailure(await browser.get("/auth/session"), 401);
  });

  it.each([
    ["another site", { origin: "https://evil.example" }],
    ["a page of another port", { origin: "http://127.0.0.1:1" }],
    ["a file or a sandbox", { origin: "null" }],
    ["an unknown origin", {}],
    ["another site with a forged origin", { "sec-fetch-site": "cross-site", own: "" }],
    ["another subdomain of the same site", { "sec-fetch-site": "same-site", own: "" }],
  ])("for a request from %s, and nothing is done", async (_, headers: Record<string, string>) => {
    const { cookie } = await signIn(app, owner);
    const { own, ...sent } = headers;
    const from = own === undefined ? sent : { ...sent, origin: app.url };
    const post = (path: string, body = "{}") =>
      app.call(path, { method: "POST", body, headers: { ...from, cookie } });
    expectFailure(await post("/auth/sign-out"), 403, "page of this site");
    const credentials = JSON.stringify({ email: owner.email, password: owner.password });
    const signedIn = await post("/auth/sign-in/email", credentials);
    expectFailure(signedIn, 403);
    expect(signedIn.headers.getSetCookie()).toEqual([]);
    expectFailure(await app.call("/auth/sessions", { method: "DELETE", headers: { ...from, cookie } }), 403);
    expectData(await createSessionClient(app, cookie).get("/auth/session"));
  });

  it("for a sign-in over plain HTTP from another machine, as browsers would not store its cookie", async () => {
    const body = JSON.stringify({ email: owner.email, password: owner.password });
    for (const [publicUrl, status] of [
      ["http://console.example", 403],
      ["https://console.example", 200],
      ["http://localhost", 200],
    ] as const) {
      await using site = await startAppInstance(app.databaseUrl, { ...ACCOUNT_ENV, PUBLIC_URL: publicUrl });
      const headers = { origin: publicUrl };
      const answer = await site.call("/auth/sign-in/email", { method: "POST", body, headers });
      expect(answer.status).toBe(status);
      if (status === 403) expectFailure(answer, 403, "with https");
      expect(answer.headers.getSetCookie()).toHaveLength(status === 200 ? 2 : 0);
      if (!publicUrl.startsWith("https:")) continue;
      // A page with the right host and the wrong protocol.
      const unsafe = { method: "POST", body: "{}", headers: { origin: "http://console.example" } };
      expectFailure(await site.call("/auth/sign-in/email", unsafe), 403, "page of this");
    }
  });

  // evidence: cors-never-with-cookies
  it("CORS never lets another origin read responses to requests with a cookie", async () => {
    const env = { ...ACCOUNT_ENV, CORS_ORIGINS: "https://app.example" };
    await using open = await startAppInstance(app.databaseUrl, env);
    const answer = await open.request("/auth/session", { headers: { origin: "https://app.example" } });
    expect(answer.get("access-control-allow-credentials")).toBeUndefined();
  });
});

describe("400", () => {
  it("for missing values and wrong types", async () => {
    for (const body of [{}, { email: 1, password: ["x"] }]) {
      const answer = await createSessionClient(app).post("/auth/sign-in/email", body);
      expectFailure(answer, 400);
    }
    for (const email of ["a\0@test.example", "unknown", `${"x".repeat(300)}@test.example`])
      expectFailure(await trySignIn(email, "not my password"), 401);
  });
});

describe("429 with Retry-After", () => {
  // evidence: sign-in-throttle-per-account
  it("after ten wrong passwords for an account across all processes, even for the right password", async () => {
    const person = await createTestUser(app, { organizationId: agent.id, role: "dispatcher" });
    const headers = randomClientIpHeader();
    const attempt = (at: number, password: string): Promise<ApiResponse> => {
      const body = JSON.stringify({ email: person.email, password });
      return createSessionClient(at % 2 === 0 ? app : other).call("/auth/sign-in/email", {
        method: "POST",
        body,
        headers,
      });
    };
    for (let index = 0; index < 10; index += 1)
      expectFailure(await attempt(index, `not my password ${index}`), 401);
    for (const at of [0, 1]) {
      const answer = await attempt(at, person.password);
      expectFailure(answer, 429, "Too many attempts");
      const retryAfterS = Number(answer.headers.get("retry-after"));
      expect(retryAfterS).toBeGreaterThan(0);
      expect(retryAfterS).toBeLessThanOrEqual(60);
    }
    // Other accounts are not affected.
    expectData(await trySignIn(owner.email, owner.password));
  });

  // evidence: sign-in-throttle-no-hash
  it("costs no hash, for existing and unknown accounts", async () => {
    const client = createSessionClient(app);
    const body = { email: `unknown.${owner.email}`, password: "some password" };
    const answers: ApiResponse[] = [];
    for (let index = 0; index < 11; index += 1) answers.push(await client.post("/auth/sign-in/email", body));
    expect(answers.map(({ status }) => status)).toEqual([...Array.from({ length: 10 }, () => 401), 429]);
    const before = await hashesCounted();
    expectFailure(await client.post("/auth/sign-in/email", body), 429);
    expect(await hashesCounted()).toBe(before);
  });

  // evidence: sign-in-throttle-all-attempts
  it("after a hundred sign-ins in a row even with the right password, as each costs a hash", async () => {
    const person = await createTestUser(app, { organizationId: agent.id, role: "dispatcher" });
    expectData(await trySignIn(person.email, person.password));
    while (await app.accounts.throttle.tryTake(["sign-in-total-account", person.email])) continue;
    expectFailure(await trySignIn(person.email, person.password), 429);
  });

  it("does not count successful sign-ins as failures", async () => {
    const person = await createTestUser(app, { organizationId: agent.id, role: "dispatcher" });
    const headers = randomClientIpHeader();
    const body = JSON.stringify({ email: person.email, password: person.password });
    for (let index = 0; index < 15; index += 1)
      expectData(
        await createSessionClient(app).call("/auth/sign-in/email", { method: "POST", body, headers }),
      );
  });
});
