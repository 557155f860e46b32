/** Passkeys: adding, signing in, confirming one's identity, and what the server refuses. */
import { describe, expect, it } from "vitest";
import { resetTwoFactor } from "../../src/accounts/recovery.ts";
import { NO_SOURCE } from "../../src/audit/api.ts";
import { sql } from "../../src/core/postgres/sql.ts";
import { systemActor } from "../../src/core/principal.ts";
import * as accounts from "../support/accounts/accounts.fixture.ts";
import {
  addPasskey,
  createPasskey,
  signInWithPasskey,
  type Ceremony,
  type TestPasskey,
} from "../support/accounts/authenticator.ts";
import { ACCOUNT_ENV } from "../support/accounts/mails.ts";
import { type AppInstance, startAppInstance } from "../support/app/app-instance.ts";
import { startFaultProxy, withoutBackground } from "../support/database/fault-proxy.ts";
import { eventually } from "../support/eventually.ts";

const { createSessionClient, expectData, expectFailure, listMailsTo, randomClientIpHeader, signIn } =
  accounts;
const { app, newUser, auditOf } = await accounts.openAccounts();

interface PasskeyUser extends accounts.TestUser {
  browser: accounts.SessionClient;
  passkey: TestPasskey;
  /** Of the passkey, as the server lists it. */
  id: string;
  userId: string;
}

async function passkeyUser(
  ceremony: Ceremony = {},
  api: Pick<AppInstance, "call" | "url"> = app,
): Promise<PasskeyUser> {
  const user = await newUser("owner");
  const browser = await signIn(api, user);
  const passkey = createPasskey(api.url);
  const { id } = expectData(await addPasskey(browser, passkey, ceremony));
  return { ...user, userId: user.id, browser, passkey, id };
}

const sessionOf = async (browser: accounts.SessionClient) => expectData(await browser.get("/auth/session"));

async function expire(userId: string): Promise<void> {
  await app.database.query(sql`
    update user_session set authenticated_at = now() - interval '11 minutes' where user_id = ${userId}::uuid`);
}

const post = (browser: accounts.SessionClient, name: string, body: object) =>
  browser.post(`/auth/passkey/${name}-passkey`, body);

describe("adding a passkey", () => {
  it("asks the browser for one that needs no e-mail address and verifies its user", async () => {
    const user = await newUser("viewer");
    const browser = await signIn(app, user);
    const options = expectData(await browser.get("/auth/passkey/generate-register-options"));
    expect(browser.cookie).toContain("__Host-waymark.passkey=");
    expect(options).toMatchObject({
      rp: { id: new URL(app.url).hostname, name: "Waymark" },
      user: { name: user.email },
      authenticatorSelection: { residentKey: "required", userVerification: "required" },
    });
    const login = expectData(
      await createSessionClient(app).get("/auth/passkey/generate-authenticate-options"),
    );
    expect(login).toMatchObject({ rpId: new URL(app.url).hostname, userVerification: "required" });
  });

  it("is audited and mailed, and counts in the session and the list", async () => {
    const { browser, email, id } = await passkeyUser();
    expect((await sessionOf(browser)).user.has_passkeys).toBe(true);
    const [listed] = expectData(await browser.get("/auth/passkey/list-user-passkeys"));
    expect(listed).toMatchObject({ id, name: "Laptop", lastUsedAt: null });
    expect(await auditOf(email)).toContainEqual({ action: "passkey.added", details: { passkey: "Laptop" } });
    const mail = (await listMailsTo(app, email)).find(({ kind }) => kind === "passkey_added");
    expect(mail?.text).toContain(`The passkey "Laptop" has just been added`);
  });

  it("needs a recent sign-in, to start and to finish", async () => {
    const user = await newUser("owner");
    const browser = await signIn(app, user);
    const { challenge } = expectData(await browser.get("/auth/passkey/generate-register-options"));
    await expire(user.id);
    const response = createPasskey(app.url).attest(challenge);
    const reason = { details: { reason: "reauthentication_required" } };
    const finish = await browser.post("/auth/passkey/verify-registration", { name: "Laptop", response });
    expect(expectFailure(finish, 403)).toMatchObject(reason);
    const start = await browser.get("/auth/passkey/generate-register-options");
    expect(expectFailure(start, 403)).toMatchObject(reason);
    expect((await sessionOf(browser)).user.has_passkeys).toBe(false);
  });

  it.each([
    ["did not verify its user", { isVerified: false }, 401],
    ["answered another origin", { origin: "https://elsewhere.example" }, 400],
    ["answered another site", { rpId: "elsewhere.example" }, 400],
  ] as const)("is refused if it %s", async (_title, ceremony, status) => {
    const user = await newUser("owner");
    const browser = await signIn(app, user);
    expectFailure(await addPasskey(browser, createPasskey(app.url), ceremony), status);
    expect((await sessionOf(browser)).user.has_passkeys).toBe(false);
  });

  it("is refused for a passkey that another user has", async () => {
    const { passkey } = await passkeyUser();
    const user = await newUser("owner");
    expectFailure(await addPasskey(await signIn(app, user), passkey), 400);
  });

  it("is refused to open a second session", async () => {
    const user = await newUser("owner");
    const browser = await signIn(app, user);
    const { challenge } = expectData(await browser.get("/auth/passkey/generate-register-options"));
    const response = createPasskey(app.url).attest(challenge);
    const body = { name: "Laptop", response, createSession: true };
    expectFailure(await browser.post("/auth/passkey/verify-registration", body), 400);
  });

  it("is refused from the eleventh on", async () => {
    const { browser, userId, passkey } = await passkeyUser();
    await app.database.query(sql`
      insert into user_passkey (id, user_id, name, credential_id, public_key, counter, device_type, backed_up)
      select gen_random_uuid(), ${userId}::uuid, 'Old', ${passkey.id} || n, '', 0, 'singleDevice', false
      from generate_series(1, 9) n`);
    expectFailure(await addPasskey(browser, createPasskey(app.url)), 409, "You have 10 passkeys");
  });
});

describe("signing in with a passkey", () => {
  it("needs no e-mail address, is fresh and is audited", async () => {
    const { email, passkey, id } = await passkeyUser();
    const browser = createSessionClient(app);
    expectData(await signInWithPasskey(browser, passkey));
    expect((await sessionOf(browser)).user).toMatchObject({ email, by_sso: false });
    expect((await auditOf(email)).at(-1)).toEqual({
      action: "session.opened",
      details: { passkey: "Laptop" },
    });
    const [listed] = expectData(await browser.get("/auth/passkey/list-user-passkeys"));
    expect(listed.lastUsedAt).not.toBeNull();
    expectData(await post(browser, "delete", { id }));
  });

  it("works over the two-factor policy, which a password alone does not meet", async () => {
    await using strict = await startAppInstance(app.databaseUrl, {
      ...ACCOUNT_ENV,
      REQUIRE_TWO_FACTOR: "all",
    });
    const { passkey, browser: enrolled, email, password } = await passkeyUser({}, strict);
    // The session that added the passkey has proved it.
    expect((await sessionOf(enrolled)).user.requires_two_factor).toBe(false);
    const browser = createSessionClient(strict);
    expectData(await signInWithPasskey(browser, passkey));
    expect((await sessionOf(browser)).user.requires_two_factor).toBe(false);

    const thief = await signIn(strict, { email, password });
    expect((await sessionOf(thief)).user.requires_two_factor).toBe(true);
    const [{ id }] = expectData(await thief.get("/auth/passkey/list-user-passkeys"));
    for (const refused of [
      await thief.post("/auth/two-factor/enable", { password }),
      await addPasskey(thief, createPasskey(strict.url)),
      await post(thief, "delete", { id }),
    ])
      expectFailure(refused, 403, "Confirm your identity with your passkey first");
    expectData(await signInWithPasskey(thief, passkey));
    expectData(await post(thief, "delete", { id }));
  });

  it("confirms the identity of the user who is signed in, whose session stays", async () => {
    const { browser, passkey, userId, email } = await passkeyUser();
    await expire(userId);
    const { session_id: session } = await sessionOf(browser);
    expectData(await signInWithPasskey(browser, passkey));
    expect((await sessionOf(browser)).session_id).toBe(session);
    expect((await auditOf(email)).at(-1)?.action).toBe("session.reauthenticated");
    expectData(await browser.get("/auth/passkey/generate-register-options"));
  });

  it("is refused for a challenge that was already used", async () => {
    const { passkey } = await passkeyUser();
    const browser = createSessionClient(app);
    const { challenge } = expectData(await browser.get("/auth/passkey/generate-authenticate-options"));
    const body = { response: passkey.assert(challenge) };
    const again = createSessionClient(app, browser.cookie);
    expectData(await browser.post("/auth/passkey/verify-authentication", body));
    expectFailure(await again.post("/auth/passkey/verify-authentication", body), 400, /already used/);
  });

  it.each([
    ["a passkey that did not verify its user", { isVerified: false }, 401],
    ["another origin", { origin: "https://elsewhere.example" }, 400],
    ["another site", { rpId: "elsewhere.example" }, 400],
    ["the signature of another passkey", { signer: createPasskey("") }, 401],
  ] as const)("is refused and audited for %s", async (_title, ceremony, status) => {
    const { passkey, email } = await passkeyUser();
    const browser = createSessionClient(app);
    expectFailure(await signInWithPasskey(browser, passkey, ceremony), status);
    expectFailure(await browser.get("/auth/session"), 401);
    await eventually(async () =>
      expect((await auditOf(email)).at(-1)).toEqual({
        action: "session.sign_in_failed",
        details: { step: "passkey", passkey: "Laptop" },
      }),
    );
  });

  it("is refused and audited if the counter shows a copy", async () => {
    const { passkey, email } = await passkeyUser({ counter: 3 });
    expectData(await signInWithPasskey(createSessionClient(app), passkey, { counter: 4_000_000_000 }));
    expectFailure(
      await signInWithPasskey(createSessionClient(app), passkey, { counter: 4_000_000_000 }),
      400,
    );
    await eventually(async () =>
      expect((await auditOf(email)).at(-1)).toEqual({
        action: "session.sign_in_failed",
        details: { step: "passkey", passkey: "Laptop", reason: "cloned" },
      }),
    );
  });

  it.each([{}, { response: {} }, { response: { id: "\u0000" } }, { response: { id: "unknown" } }])(
    "is refused for the body %j",
    async (body) => {
      const browser = createSessionClient(app);
      await browser.get("/auth/passkey/generate-authenticate-options");
      const { status } = await browser.post("/auth/passkey/verify-authentication", body);
      expect([400, 401]).toContain(status);
    },
  );

  it("is refused to users who must use single sign-on", async () => {
    const { passkey, userId } = await passkeyUser();
    await app.database.query(
      sql`update user_account set organization_id = null, role = 'operator' where id = ${userId}::uuid`,
    );
    await using strict = await startAppInstance(app.databaseUrl, {
      ...ACCOUNT_ENV,
      SSO_ONLY: "operators",
      OIDC_ISSUER: "http://127.0.0.1:9",
      OIDC_CLIENT_ID: "waymark",
      OIDC_CLIENT_SECRET: "a secret",
      OIDC_ROLE_CLAIM: "groups=staff",
    });
    const answer = await signInWithPasskey(createSessionClient(strict), passkey, { origin: strict.url });
    expectFailure(answer, 403, /single sign-on/);
  });

  it("is limited by IP address", async () => {
    const { passkey } = await passkeyUser();
    const browser = createSessionClient(app);
    const { challenge } = expectData(await browser.get("/auth/passkey/generate-authenticate-options"));
    const headers = randomClientIpHeader();
    while (await app.accounts.throttle.tryTake(["sso-address", String(headers["x-forwarded-for"])])) continue;
    // It is refilled every 2 s.
    await app.database.query(
      sql`update rate_limit_bucket set tokens = -100 where id like 'sso-address:%' and tokens < 2`,
    );
    const body = JSON.stringify({ response: passkey.assert(challenge) });
    const finish = { method: "POST", body, headers };
    expectFailure(await browser.call("/auth/passkey/verify-authentication", finish), 429);
    expectFailure(await browser.call("/auth/passkey/generate-authenticate-options", { headers }), 429);
    expectData(
      await browser.post("/auth/passkey/verify-authentication", { response: JSON.parse(body).response }),
    );
  });

  it("takes at most eight statements, and two that delete the challenge", async () => {
    await using proxy = await startFaultProxy(app.databaseUrl);
    await using counted = await startAppInstance(proxy.url, ACCOUNT_ENV);
    const { passkey } = await passkeyUser({}, counted);
    await signInWithPasskey(createSessionClient(counted), passkey);
    const browser = createSessionClient(counted);
    const { challenge } = expectData(await browser.get("/auth/passkey/generate-authenticate-options"));
    const response = passkey.assert(challenge);
    const start = proxy.statements.length;
    expectData(await browser.post("/auth/passkey/verify-authentication", { response }));
    const statements = proxy.statements.slice(start);
    // Background work also saves when a key was last used.
    const uses = statements.filter((text) => text.startsWith('update "user_passkey"'));
    expect(uses).toHaveLength(1);
    expect([...uses, ...withoutBackground(statements)].length).toBeLessThanOrEqual(8);
    expect(statements.filter((text) => text.startsWith("delete from"))).toHaveLength(2);
  });
});

describe("a user's passkeys", () => {
  it("can be renamed and removed; a removed one is refused", async () => {
    const { browser, email, id, passkey } = await passkeyUser();
    expectData(await post(browser, "update", { id, name: " Work laptop " }));
    expect(expectData(await browser.get("/auth/passkey/list-user-passkeys"))).toMatchObject([
      { name: "Work laptop" },
    ]);
    expectData(await post(browser, "delete", { id }));
    expect((await sessionOf(browser)).user.has_passkeys).toBe(false);
    expectFailure(await signInWithPasskey(createSessionClient(app), passkey), 401);
    expect((await auditOf(email)).at(-1)).toEqual({
      action: "passkey.removed",
      details: { passkey: "Work laptop" },
    });
    expect((await listMailsTo(app, email)).map(({ kind }) => kind)).toEqual([
      "passkey_added",
      "passkey_removed",
    ]);
  });

  it("cannot be renamed or removed by another user", async () => {
    const { browser, id } = await passkeyUser();
    const other = await passkeyUser();
    expectFailure(await post(other.browser, "update", { id, name: "Mine" }), 404);
    expectFailure(await post(other.browser, "delete", { id }), 404);
    expect(expectData(await browser.get("/auth/passkey/list-user-passkeys"))).toMatchObject([
      { id, name: "Laptop" },
    ]);
  });

  it("cannot be removed without a recent sign-in, but renamed", async () => {
    const { browser, id, userId } = await passkeyUser();
    await expire(userId);
    expectFailure(await post(browser, "delete", { id }), 403);
    expectData(await post(browser, "update", { id, name: "Phone" }));
  });

  it("are refused with an id or a name that is not one", async () => {
    const { browser, id } = await passkeyUser();
    expectFailure(await post(browser, "delete", { id: "x" }), 400);
    for (const name of ["", "a".repeat(61), "a\nb"])
      expectFailure(await post(browser, "update", { id, name }), 400);
  });

  it("are removed when the operator resets two-factor authentication", async () => {
    const { email, passkey } = await passkeyUser();
    const deps = { database: app.database, mails: { enqueue: async () => undefined }, pageUrl: String };
    await resetTwoFactor(deps, { ...NO_SOURCE, actor: systemActor }, email);
    expectFailure(await signInWithPasskey(createSessionClient(app), passkey), 401);
    expect((await auditOf(email)).at(-1)).toEqual({
      action: "two_factor.reset",
      details: { sessions_ended: 1, passkeys_removed: 1 },
    });
  });
});
