import { describe, expect, it } from "vitest";
import { sql } from "../../src/core/postgres/sql.ts";
import * as accounts from "../support/accounts/accounts.fixture.ts";
import { ACCOUNT_ENV } from "../support/accounts/mails.ts";
import { startAppInstance } from "../support/app/app-instance.ts";
import { eventually } from "../support/eventually.ts";
import { suspend } from "../support/app/suspend.ts";

const { createSessionClient, credentialsOf, expectData, expectFailure, totpCode } = accounts;
const rig = await accounts.openAccounts();
const { app, newUser, newSecuredUser, signIn, isSignedIn, actsOf } = rig;
type Browser = accounts.SessionClient;

/** No test changes it. */
const enrolled = await newSecuredUser();

/** Returns a browser that has passed the password step. */
async function halfway(user: accounts.Credentials, api: Pick<typeof app, "call" | "url"> = app) {
  const browser = createSessionClient(api);
  const data = expectData(await browser.post("/auth/sign-in/email", credentialsOf(user)));
  expect(data).toMatchObject({ twoFactorRedirect: true });
  return browser;
}

const enter = (browser: Browser, code: string) => browser.post("/auth/two-factor/verify-totp", { code });
const enterRecoveryCode = (browser: Browser, code = "") =>
  browser.post("/auth/two-factor/verify-backup-code", { code });

describe("turning two-factor authentication on", () => {
  // evidence: two-factor-enrollment
  it("takes the password, then a code, and returns ten recovery codes once", async () => {
    const { browser, uri, recoveryCodes, email } = enrolled;
    expect(uri).toMatch(/^otpauth:\/\/totp\/Waymark:/);
    expect(new Set(recoveryCodes).size).toBe(10);
    expect(expectData(await browser.get("/auth/session")).user.has_two_factor).toBe(true);
    expect(await actsOf(email)).toContain("two_factor.enabled");
  });

  // evidence: two-factor-secrets-encrypted
  it("stores the secret and the recovery codes encrypted", async () => {
    const rows = JSON.stringify(
      await app.database.query(sql`select secret, recovery_codes from user_two_factor`),
    );
    const secret = new URL(enrolled.uri).searchParams.get("secret");
    for (const text of [...enrolled.recoveryCodes, secret]) expect(rows).not.toContain(text);
  });

  // evidence: two-factor-enrollment-ends-other-sessions, session-token-renewed-by-two-factor
  it("replaces the session, and ends the user's others, and no other user's", async () => {
    const user = await newUser();
    const [here, elsewhere, colleague] = [
      await signIn(user),
      await signIn(user),
      await signIn(await newUser()),
    ];
    const former = createSessionClient(app, here.cookie);
    expect(await isSignedIn(former)).toBe(true);
    await accounts.enableTwoFactor(here, user);
    expect(await Promise.all([here, former, elsewhere, colleague].map(isSignedIn))).toEqual([
      true,
      false,
      false,
      true,
    ]);
    const [entry] = await app.database.query(
      sql`select details from audit_entry where actor = ${user.email} and action = 'two_factor.enabled'`,
    );
    expect(entry).toEqual({ details: { sessions_ended: 1 } });
  });

  it("has no effect before a code is confirmed, and does not start with a wrong password", async () => {
    const user = await newUser();
    const browser = await signIn(user);
    const enable = (password: string) => browser.post("/auth/two-factor/enable", { password });
    expectFailure(await enable("not my password"), 400, "not your password");
    expectFailure(await enter(browser, "000000"), 400, "Start setting up");
    const { totpURI: uri, backupCodes } = expectData(await enable(user.password));
    expectFailure(await enter(browser, totpCode(uri, 50)), 401, "is wrong");
    expectFailure(await enterRecoveryCode(createSessionClient(app), backupCodes[0]), 401);
    await signIn(user);
  });

  // evidence: two-factor-enrollment-refused
  it("is rejected if it is on", async () => {
    const { browser, password, recoveryCodes } = enrolled;
    expectFailure(await browser.post("/auth/two-factor/enable", { password }), 400, "already on");
    expectData(await enterRecoveryCode(await halfway(enrolled), recoveryCodes[9]));
  });
});

describe("signing in", () => {
  // evidence: two-factor-sign-in-cookie, two-factor-no-session-before-code
  it("takes the password and then a code within ten minutes, and creates no session in between", async () => {
    const user = await newSecuredUser();
    const browser = createSessionClient(app);
    const answer = await browser.post("/auth/sign-in/email", credentialsOf(user));
    const cookies = answer.headers.getSetCookie().filter((text) => !text.includes("Max-Age=0"));
    expect(cookies).toEqual([expect.stringMatching(/^__Host-waymark_two_factor=/)]);
    expect(new Set(cookies[0]!.split("; ").slice(1))).toEqual(
      new Set(["Max-Age=600", "Path=/", "HttpOnly", "Secure", "SameSite=Lax"]),
    );
    expectFailure(await browser.get("/auth/session"), 401);
    expect(expectData(await user.browser.get("/auth/sessions"))).toHaveLength(1);
    const body = { code: totpCode(user.uri, 1), trustDevice: true };
    expectData(await browser.post("/auth/two-factor/verify-totp", body));
    expect(await isSignedIn(browser)).toBe(true);
    expect(browser.cookie).not.toMatch(/two_factor|trust/);
  });

  // evidence: two-factor-code-single-use, two-factor-next-code-accepted
  it("accepts a code only once across all processes, and another code in the same sign-in", async () => {
    const user = await newSecuredUser();
    await using other = await startAppInstance(app.databaseUrl, ACCOUNT_ENV);
    for (const api of [app, other]) {
      const browser = await halfway(user, api);
      // More often than a wrong code would be accepted.
      for (let tried = 0; tried < 6; tried += 1) {
        const answer = await enter(browser, user.confirmationCode);
        expectFailure(answer, 401, "already used");
        expect(answer.headers.getSetCookie()).toEqual([]);
      }
      expect(await isSignedIn(browser)).toBe(false);
      if (api === other) expectData(await enter(browser, totpCode(user.uri, 1)));
    }
  });

  // evidence: recovery-code-single-use
  it("accepts each recovery code once", async () => {
    const user = await newSecuredUser();
    const [first, second] = user.recoveryCodes;
    expectData(await enterRecoveryCode(await halfway(user), first));
    expectFailure(await enterRecoveryCode(await halfway(user), first), 401, "already used");
    expectData(await enterRecoveryCode(await halfway(user), second));
  });

  // evidence: two-factor-code-concurrent
  it("accepts only one of several concurrent sign-ins with the same code of either kind", async () => {
    const user = await newSecuredUser();
    const [code, recoveryCode] = [totpCode(user.uri, 1), user.recoveryCodes[0]];
    const kinds = [
      (one: Browser) => enter(one, code),
      (one: Browser) => enterRecoveryCode(one, recoveryCode),
    ];
    for (const send of kinds) {
      const browsers = [await halfway(user), await halfway(user), await halfway(user)];
      const refused = (await Promise.all(browsers.map(send))).filter(({ status }) => status !== 200);
      expect(refused).toHaveLength(2);
      for (const answer of refused)
        expectFailure(answer, answer.status === 409 ? 409 : 401, "wrong or was already used");
    }
  });

  it("rejects a code of the wrong kind, and a code without the password step", async () => {
    const { uri, recoveryCodes } = enrolled;
    expectFailure(await enter(createSessionClient(app), totpCode(uri, 1)), 401);
    expectFailure(await enterRecoveryCode(await halfway(enrolled), totpCode(uri, 1)), 401);
    expectFailure(await enter(await halfway(enrolled), recoveryCodes[0]!), 401);
  });

  it("does not check a code against another user who is signed in in the same browser", async () => {
    const [user, other] = [await newSecuredUser(), await newSecuredUser()];
    expectData(await other.browser.post("/auth/sign-in/email", credentialsOf(user)));
    expectFailure(await enter(other.browser, totpCode(other.uri, 1)), 401);
    expectData(await enter(other.browser, totpCode(user.uri, 1)));
    expect(expectData(await other.browser.get("/auth/session")).user.email).toBe(user.email);
  });

  it("needs the password again after five wrong codes, and is locked after ten", async () => {
    const user = await newSecuredUser();
    for (let round = 0; round < 2; round += 1) {
      const browser = await halfway(user);
      for (let tried = 0; tried < 5; tried += 1)
        expectFailure(await enter(browser, totpCode(user.uri, 500 + 5 * round + tried)), 401, "is wrong");
      if (round === 0)
        expectFailure(await enter(browser, totpCode(user.uri, 1)), 400, "again with your password");
    }
    const locked = await enterRecoveryCode(await halfway(user), user.recoveryCodes[0]);
    expectFailure(locked, 429);
    expect(locked.headers.get("retry-after")).toBe("900");
    const failures = async () => (await actsOf(user.email)).filter((act) => act === "session.sign_in_failed");
    await eventually(async () => expect(await failures()).toHaveLength(10));
  });

  it("ends before the code step if the password was changed, or the organisation suspended", async () => {
    const user = await newSecuredUser();
    const thief = await halfway(user);
    const change = { current_password: user.password, new_password: accounts.NEW_PASSWORD };
    expectData(await user.browser.post("/auth/password/change", change));
    expectFailure(await enter(thief, totpCode(user.uri, 1)), 401, "too long");

    const partner = await app.createOrganization("agent");
    const member = await newSecuredUser("dispatcher", partner.id);
    const browser = await halfway(member);
    await suspend(app.database, partner.id);
    expectFailure(await enter(browser, totpCode(member.uri, 1)), 403, "suspended");
  });
});

describe("turning two-factor authentication off", () => {
  it("takes the password and mails the user, and the password alone signs in", async () => {
    const { browser, password, email } = await newSecuredUser();
    for (const path of ["generate-backup-codes", "disable"]) {
      const refused = await browser.post(`/auth/two-factor/${path}`, { password: "not my password" });
      expectFailure(refused, 400, "not your password");
    }
    expectData(await browser.post("/auth/two-factor/disable", { password }));
    expect(expectData(await browser.get("/auth/session")).user.has_two_factor).toBe(false);
    await signIn({ email, password });
    expect(await actsOf(email)).toContain("two_factor.disabled");
    const mails = await accounts.listMailsTo(app, email);
    expect(mails.map(({ kind }) => kind)).toEqual(["two_factor_enabled", "two_factor_disabled"]);
  });

  // evidence: password-check-throttle-in-session
  it("limits password guesses within a session", async () => {
    const { password, ...user } = await newUser();
    const browser = await signIn({ ...user, password });
    const enable = (guess: string) => browser.post("/auth/two-factor/enable", { password: guess });
    for (let index = 0; index < 10; index += 1) expectFailure(await enable(`guess number ${index}`), 400);
    expectFailure(await enable(password), 429);
    const change = { current_password: password, new_password: accounts.NEW_PASSWORD };
    expectFailure(await browser.post("/auth/password/change", change), 429);
  });
});
