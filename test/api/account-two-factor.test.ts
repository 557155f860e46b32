import { symmetricDecrypt, symmetricEncrypt } from "better-auth/crypto";
import { beforeAll, describe, expect, it } from "vitest";
import { SECRET_VERSION, deriveAuthSecret } from "../../src/accounts/auth/secret.ts";
import { sql } from "../../src/core/postgres/sql.ts";
import {
  createTestUser,
  createSessionClient,
  signIn,
  type SessionClient,
  type TestUser,
  enableTwoFactor,
  type TwoFactorSetup,
} from "../support/accounts/session-client.ts";
import { expectData, expectFailure, expectProblems } from "../support/app/assertions.ts";
import { startAppInstance, type AppInstance } from "../support/app/app-instance.ts";
import { ACCOUNT_ENV, listMailsTo } from "../support/accounts/mails.ts";
import { testSecretBox } from "../support/test-secret.ts";
import type { TestOrganization } from "../support/app/app.fixture.ts";
import { sharedApp, type SharedApp } from "../support/app/shared-app.ts";
import { totpCode } from "../support/accounts/totp.ts";
import { openTransaction, waitForBlockedSessions } from "../support/database/blocked-sessions.ts";
import { eventually } from "../support/eventually.ts";

/** The key that encrypts TOTP secrets and recovery codes. */
const sealing = {
  keys: new Map([[SECRET_VERSION, deriveAuthSecret(testSecretBox)]]),
  currentVersion: SECRET_VERSION,
};

let app: SharedApp;
let agent: TestOrganization;
/** No test changes it. */
let enrolled: Enrolled;

beforeAll(async () => {
  app = await sharedApp("api");
  agent = await app.createOrganization("agent");
  enrolled = await enrolledPerson();
});

interface Enrolled extends TestUser, TwoFactorSetup {
  browser: SessionClient;
  /** The cookie before two-factor authentication was turned on. */
  formerCookie: string;
}

type Secured = Omit<Enrolled, "confirmationCode" | "formerCookie">;

/** Creates a user who turns two-factor authentication on. */
async function enrolledPerson(): Promise<Enrolled> {
  const person = await createTestUser(app, { organizationId: agent.id, role: "dispatcher" });
  const browser = await signIn(app, person);
  const formerCookie = browser.cookie;
  return { ...person, ...(await enableTwoFactor(browser, person)), browser, formerCookie };
}

/** Creates a user with a copy of the secret and codes of `enrolled`: hashing ten new codes takes half a second. */
async function securedPerson(organizationId = agent.id): Promise<Secured> {
  const person = await createTestUser(app, { organizationId, role: "dispatcher" });
  const browser = await signIn(app, person);
  await app.database.query(sql`
    insert into user_two_factor (id, user_id, secret, recovery_codes, verified)
    select gen_random_uuid(), ${person.id}::uuid, secret, recovery_codes, verified
    from user_two_factor where user_id = ${enrolled.id}::uuid`);
  await app.database.query(
    sql`update user_account set two_factor_enabled = true where id = ${person.id}::uuid`,
  );
  const { uri, recoveryCodes } = enrolled;
  return { ...person, browser, uri, recoveryCodes };
}

/** Returns a browser that has passed the password step. */
async function halfway(
  { email, password }: TestUser,
  api: Pick<AppInstance, "call" | "url"> = app,
): Promise<SessionClient> {
  const browser = createSessionClient(api);
  const data = expectData(await browser.post("/auth/sign-in/email", { email, password }));
  expect(data).toEqual({ two_factor_required: true });
  return browser;
}

const enter = (browser: SessionClient, code: string, kind = "totp") =>
  browser.post("/auth/two-factor", { code, kind });

/** Returns a user's stored recovery codes, decrypted. */
async function keptCodes(userId: string): Promise<string[]> {
  const [row] = await app.database.query<{ recovery_codes: string }>(
    sql`select recovery_codes from user_two_factor where user_id = ${userId}::uuid`,
  );
  return JSON.parse(await symmetricDecrypt({ key: sealing, data: row?.recovery_codes ?? "" })) as string[];
}

async function actsOf(email: string): Promise<string[]> {
  const rows = await app.database.query<{ action: string }>(
    sql`select action from audit_entry where actor = ${email} or subject = ${email}`,
  );
  return rows.map(({ action }) => action);
}

describe("turning two-factor authentication on", () => {
  // evidence: two-factor-enrollment
  it("takes the password, then a code, and returns ten recovery codes once", async () => {
    const { browser, uri, recoveryCodes, email } = enrolled;
    expect(uri).toMatch(/^otpauth:\/\/totp\/Waymark:/);
    expect(recoveryCodes).toHaveLength(10);
    expect(new Set(recoveryCodes).size).toBe(10);
    expect(expectData(await browser.get("/auth/session")).user.has_two_factor).toBe(true);
    expect(await actsOf(email)).toContain("two_factor.enabled");
  });

  // evidence: two-factor-secrets-encrypted
  it("stores the secret and the recovery codes encrypted", async () => {
    const { uri, recoveryCodes } = enrolled;
    const rows = await app.database.query(sql`select secret, recovery_codes from user_two_factor`);
    const text = JSON.stringify(rows);
    expect(text).not.toContain(recoveryCodes[0]);
    expect(text).not.toContain(new URL(uri).searchParams.get("secret"));
  });

  // evidence: recovery-codes-argon2id
  it("hashes recovery codes with argon2id and one salt per set, below the encryption", async () => {
    const people = [await enrolledPerson(), enrolled];
    const sets = await Promise.all(people.map(({ id }) => keptCodes(id)));
    const parts = sets.map((set) =>
      set.map((hash) =>
        /^\$argon2id\$v=19\$m=19456,t=2,p=1\$([A-Za-z0-9+/]{22})\$[A-Za-z0-9+/]{43}$/.exec(hash),
      ),
    );
    expect(parts.map((set) => set.length)).toEqual([10, 10]);
    const salts = parts.map((set) => new Set(set.map((part) => part?.[1] ?? "none")));
    expect(salts.map(({ size }) => size)).toEqual([1, 1]);
    expect(salts[0]).not.toEqual(salts[1]);
    expect(new Set(sets.flat()).size).toBe(20);

    const [person] = people as [Enrolled];
    expectData(await enter(await halfway(person), person.recoveryCodes[3]!, "recovery_code"));
    const [before = []] = sets;
    expect(await keptCodes(person.id)).toEqual(before.filter((_, index) => index !== 3));
  });

  // evidence: two-factor-enrollment-ends-other-sessions
  it("ends the user's other sessions, and no other user's", async () => {
    const person = await createTestUser(app, { organizationId: agent.id, role: "dispatcher" });
    const colleague = await signIn(
      app,
      await createTestUser(app, { organizationId: agent.id, role: "dispatcher" }),
    );
    const [here, elsewhere] = [await signIn(app, person), await signIn(app, person)];
    const { totp_uri: uri } = expectData(
      await here.post("/auth/two-factor/begin", { password: person.password }),
    );
    expect((await elsewhere.get("/auth/session")).status).toBe(200);
    expectData(await here.post("/auth/two-factor/confirm", { code: totpCode(uri) }));
    expect((await elsewhere.get("/auth/session")).status).toBe(401);
    expect(expectData(await here.get("/auth/sessions"))).toHaveLength(1);
    expect((await colleague.get("/auth/session")).status).toBe(200);
    const [entry] = await app.database.query(
      sql`select details from audit_entry where actor = ${person.email} and action = 'two_factor.enabled'`,
    );
    expect(entry).toEqual({ details: { sessions_ended: 1 } });
  });

  // evidence: two-factor-enrollment-ends-partial-sign-in
  it("ends a sign-in in progress with the password alone", async () => {
    const person = await createTestUser(app, { organizationId: agent.id, role: "dispatcher" });
    // The password was accepted without a code; the session is about to be written.
    const enabling = await openTransaction(
      app.database,
      sql`select from user_account where id = ${person.id}::uuid for update`,
      sql`update user_account set two_factor_enabled = true where id = ${person.id}::uuid`,
    );
    const thief = createSessionClient(app);
    const { email, password } = person;
    const underWay = thief.post("/auth/sign-in/email", { email, password });
    await waitForBlockedSessions(app.database, 1);
    await enabling.commit();
    expectFailure(await underWay, 401);
    expect((await thief.get("/auth/session")).status).toBe(401);
    const left = await app.database.query(sql`select from user_session where user_id = ${person.id}::uuid`);
    expect(left).toEqual([]);
  });

  it("creates no recovery codes before a code is confirmed", async () => {
    const person = await createTestUser(app, { organizationId: agent.id, role: "dispatcher" });
    const browser = await signIn(app, person);
    expectData(await browser.post("/auth/two-factor/begin", { password: person.password }));
    expect(await keptCodes(person.id)).toEqual([]);
  });

  it("has no effect before a code is confirmed, and does not start with a wrong password", async () => {
    const person = await createTestUser(app, { organizationId: agent.id, role: "dispatcher" });
    const browser = await signIn(app, person);
    expectProblems(await browser.post("/auth/two-factor/begin", { password: "not my password" }), "body", [
      "password",
    ]);
    expectFailure(await browser.post("/auth/two-factor/confirm", { code: "000000" }), 409);
    const { totp_uri: uri } = expectData(
      await browser.post("/auth/two-factor/begin", { password: person.password }),
    );
    expectProblems(await browser.post("/auth/two-factor/confirm", { code: totpCode(uri, 50) }), "body", [
      "code",
    ]);
    expect((await signIn(app, person)).cookie).not.toBe("");
  });

  // evidence: two-factor-enrollment-refused
  it("is rejected if it is on, and without a session", async () => {
    const { browser, password, uri } = await securedPerson();
    expectFailure(await browser.post("/auth/two-factor/begin", { password }), 409);
    expectFailure(await browser.post("/auth/two-factor/confirm", { code: totpCode(uri) }), 409);
    for (const path of ["begin", "confirm", "recovery-codes", "disable"])
      expectFailure(
        await createSessionClient(app).post(`/auth/two-factor/${path}`, { password, code: "1" }),
        401,
      );
  });

  // evidence: session-token-renewed-by-two-factor
  it("replaces the session, so that the previous cookie is invalid", async () => {
    const { browser, formerCookie } = enrolled;
    expect(browser.cookie).not.toBe(formerCookie);
    expectFailure(await createSessionClient(app, formerCookie).get("/auth/session"), 401);
    expectData(await createSessionClient(app, browser.cookie).get("/auth/session"));
  });
});

describe("signing in", () => {
  it("takes the password and then a code, also with spaces", async () => {
    const person = await securedPerson();
    const browser = await halfway(person);
    expectFailure(await browser.get("/auth/session"), 401);
    const code = totpCode(person.uri, 1);
    expectData(await enter(browser, `${code.slice(0, 3)} ${code.slice(3)}`));
    expectData(await browser.get("/auth/session"));
    expect(browser.cookie).not.toContain("two_factor");
  });

  // evidence: two-factor-sign-in-cookie
  it("sets a two-factor cookie with the session cookie's attributes for ten minutes", async () => {
    const { email, password } = await securedPerson();
    const answer = await createSessionClient(app).post("/auth/sign-in/email", { email, password });
    const [text = "", ...others] = answer.headers.getSetCookie().filter((one) => !one.includes("Max-Age=0"));
    expect(others).toEqual([]);
    const [pair, ...attributes] = text.split("; ");
    expect(pair).toMatch(/^__Host-waymark_two_factor=/);
    expect(new Set(attributes)).toEqual(
      new Set(["Max-Age=600", "Path=/", "HttpOnly", "Secure", "SameSite=Lax"]),
    );
  });

  // evidence: two-factor-no-session-before-code
  it("creates no session before the code is entered", async () => {
    const person = await securedPerson();
    const count = async () =>
      (await app.database.query(sql`select from user_session where user_id = ${person.id}`)).length;
    const before = await count();
    await halfway(person);
    expect(await count()).toBe(before);
  });

  // evidence: two-factor-code-single-use
  it("accepts a code only once across all processes", async () => {
    const person = await securedPerson();
    const code = totpCode(person.uri, 1);
    expectData(await enter(await halfway(person), code));
    await using other = await startAppInstance(app.databaseUrl, ACCOUNT_ENV);
    for (const api of [app, other]) {
      const browser = await halfway(person, api);
      const answer = await enter(browser, code);
      expectFailure(answer, 401, "already used");
      expect(answer.headers.getSetCookie()).toEqual([]);
      expectFailure(await browser.get("/auth/session"), 401);
    }
    expectData(await enter(await halfway(person), person.recoveryCodes[0]!, "recovery_code"));
  });

  // evidence: two-factor-next-code-accepted
  it("rejects the code that turned it on, and accepts another code in the same sign-in", async () => {
    const person = await enrolledPerson();
    const used = person.confirmationCode;
    const browser = await halfway(person);
    for (let index = 0; index < 6; index += 1) expectFailure(await enter(browser, used), 401, "already used");
    // The next period's code: whenever a period ends, it is another code and still valid.
    expectData(await enter(browser, totpCode(person.uri, 1)));
    expectData(await browser.get("/auth/session"));
  });

  // evidence: recovery-code-single-use
  it("accepts each recovery code once", async () => {
    const person = await securedPerson();
    const [first = "", second = ""] = person.recoveryCodes;
    expectData(await enter(await halfway(person), first, "recovery_code"));
    expectFailure(await enter(await halfway(person), first, "recovery_code"), 401, "already used");
    expectData(await enter(await halfway(person), second, "recovery_code"));
  });

  // evidence: recovery-codes-legacy-accepted
  it("accepts recovery codes stored before codes were hashed", async () => {
    const person = await securedPerson();
    const kept = await symmetricEncrypt({
      key: sealing,
      data: JSON.stringify(["aaaaa-bbbbb", "ccccc-ddddd"]),
    });
    await app.database.query(
      sql`update user_two_factor set recovery_codes = ${kept} where user_id = ${person.id}::uuid`,
    );
    expectData(await enter(await halfway(person), "aaaaa-bbbbb", "recovery_code"));
    expectFailure(await enter(await halfway(person), "aaaaa-bbbbb", "recovery_code"), 401);
    expectData(await enter(await halfway(person), "ccccc-ddddd", "recovery_code"));
    expectFailure(await enter(await halfway(person), "ccccc-ddddd", "recovery_code"), 401);
  });

  it("accepts only one of two concurrent sign-ins with the same recovery code", async () => {
    const person = await securedPerson();
    const browsers = [await halfway(person), await halfway(person), await halfway(person)];
    const [code = ""] = person.recoveryCodes;
    const answers = await Promise.all(browsers.map((browser) => enter(browser, code, "recovery_code")));
    expect(answers.map(({ status }) => status).toSorted((one, other) => one - other)).toEqual([
      200, 401, 401,
    ]);
  });

  // evidence: two-factor-code-concurrent
  it("accepts only one of two concurrent sign-ins with the same TOTP code", async () => {
    const person = await securedPerson();
    const browsers = [await halfway(person), await halfway(person), await halfway(person)];
    const code = totpCode(person.uri, 1);
    const answers = await Promise.all(browsers.map((browser) => enter(browser, code)));
    expect(answers.map(({ status }) => status).toSorted((one, other) => one - other)).toEqual([
      200, 401, 401,
    ]);
  });

  it("rejects a code of the wrong kind, and a code without the password step", async () => {
    const person = await securedPerson();
    expectFailure(await enter(createSessionClient(app), totpCode(person.uri, 1)), 401);
    expectFailure(await enter(await halfway(person), totpCode(person.uri, 1), "recovery_code"), 401);
    expectFailure(await enter(await halfway(person), person.recoveryCodes[0]!, "totp"), 401);
    expectProblems(await enter(await halfway(person), "1", "other"), "body", ["kind"]);
  });

  it("does not check a code against another user who is signed in in the same browser", async () => {
    const person = await securedPerson();
    const other = await enrolledPerson();
    const browser = other.browser;
    const { email, password } = person;
    expectData(await browser.post("/auth/sign-in/email", { email, password }));
    expectFailure(await enter(browser, totpCode(other.uri, 1)), 401);
    expectData(await enter(browser, totpCode(person.uri, 1)));
    expect(expectData(await browser.get("/auth/session")).user.email).toBe(email);
  });

  it("needs the password again after five wrong codes, and is locked after ten", async () => {
    const person = await securedPerson();
    const wrong = totpCode(person.uri, 500);
    const browser = await halfway(person);
    for (let index = 0; index < 5; index += 1) expectFailure(await enter(browser, wrong), 401, "is wrong");
    expectFailure(await enter(browser, totpCode(person.uri, 1)), 401, "again with your password");
    const again = await halfway(person);
    for (let index = 0; index < 5; index += 1) expectFailure(await enter(again, wrong), 401, "is wrong");
    const locked = await enter(await halfway(person), totpCode(person.uri, 1));
    expectFailure(locked, 429);
    expect(Number(locked.headers.get("retry-after"))).toBeGreaterThan(0);
    await eventually(async () =>
      expect(
        (await actsOf(person.email)).filter((act) => act === "session.sign_in_failed").length,
      ).toBeGreaterThan(9),
    );
  });

  it("ends before the code step if the password was changed meanwhile", async () => {
    const person = await securedPerson();
    const thief = await halfway(person);
    expectData(
      await person.browser.post("/auth/password/change", {
        current_password: person.password,
        new_password: "another heron at the weir",
      }),
    );
    expectFailure(await enter(thief, totpCode(person.uri, 1)), 401, "too long");
  });

  it("returns 403 if the organisation was suspended before the code step", async () => {
    const partner = await app.createOrganization("agent");
    const person = await securedPerson(partner.id);
    const half = await halfway(person);
    await app.keys.setSuspended(partner.id, true);
    expectFailure(await enter(half, totpCode(person.uri, 1)), 403, "suspended");
  });
});

describe("new recovery codes, and turning it off", () => {
  it("new codes replace the previous ones", async () => {
    const person = await securedPerson();
    const { recovery_codes: codes } = expectData(
      await person.browser.post("/auth/two-factor/recovery-codes", {}),
    );
    expectFailure(await enter(await halfway(person), person.recoveryCodes[0]!, "recovery_code"), 401);
    expectData(await enter(await halfway(person), codes[0], "recovery_code"));
  });

  it("turning it off mails the user, and the password alone signs in", async () => {
    const { browser, password, email } = await enrolledPerson();
    expectData(await browser.post("/auth/two-factor/disable", {}));
    expect(expectData(await browser.get("/auth/session")).user.has_two_factor).toBe(false);
    await signIn(app, { email, password });
    expectFailure(await browser.post("/auth/two-factor/disable", {}), 409);
    expect(await actsOf(email)).toContain("two_factor.disabled");
    const mails = await listMailsTo(app, email);
    expect(mails.map(({ kind }) => kind)).toEqual(["two_factor_enabled", "two_factor_disabled"]);
  });

  // evidence: password-check-throttle-in-session
  it("limits password guesses within a session", async () => {
    const person = await createTestUser(app, { organizationId: agent.id, role: "dispatcher" });
    const browser = await signIn(app, person);
    for (let index = 0; index < 10; index += 1)
      expectFailure(await browser.post("/auth/two-factor/begin", { password: `guess number ${index}` }), 400);
    const { password } = person;
    expectFailure(await browser.post("/auth/two-factor/begin", { password }), 429);
    const change = { current_password: password, new_password: "another heron at the weir" };
    expectFailure(await browser.post("/auth/password/change", change), 429);
  });
});
