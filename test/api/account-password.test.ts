import { describe, expect, it } from "vitest";
import { sql } from "../../src/core/postgres/sql.ts";
import * as accounts from "../support/accounts/accounts.fixture.ts";
import { HOUR_MS } from "../support/fake-clock.ts";

const { NEW_PASSWORD, VALID_PASSWORD, expectData, expectFailure, expectProblems, withoutRequestId } =
  accounts;
const { app, newUser, post, signIn, trySignIn, isSignedIn, actsOf, resetToken } =
  await accounts.openAccounts();

const reset = (token: string, password = NEW_PASSWORD) => post("/auth/password/reset", { token, password });
const change = (browser: accounts.SessionClient, current: string, next = NEW_PASSWORD) =>
  browser.post("/auth/password/change", { current_password: current, new_password: next });
const forget = (email: string, headers = {}) => post("/auth/password/forgotten", { email }, headers);
const mailKinds = async (email: string) => (await accounts.listMailsTo(app, email)).map(({ kind }) => kind);

async function signsIn({ email }: accounts.TestUser, password: string): Promise<boolean> {
  const { status } = await trySignIn({ email, password });
  expect([200, 401]).toContain(status);
  return status === 200;
}

describe("a password reset", () => {
  // evidence: password-reset-ends-sessions
  it("by the mailed link sets the password, ends every session and mails the user", async () => {
    const user = await newUser();
    const browsers = [await signIn(user), await signIn(user)];
    expectData(await reset(await resetToken(user.email)));
    for (const browser of browsers) expect(await isSignedIn(browser)).toBe(false);
    expect([await signsIn(user, VALID_PASSWORD), await signsIn(user, NEW_PASSWORD)]).toEqual([false, true]);
    expect(await mailKinds(user.email)).toEqual(["password_reset", "password_changed"]);
    const acts = ["password.forgotten", "password.reset"];
    expect(await actsOf(user.email)).toEqual(expect.arrayContaining(acts));
  });

  it("gets the same response for an unknown e-mail address, which gets no mail", async () => {
    const { email } = await newUser();
    const [known, unknown] = [await forget(email), await forget(`unknown.${email}`)];
    expect(known.status).toBe(202);
    expect(withoutRequestId(unknown)).toEqual(withoutRequestId(known));
    // The queue runs in order, so the request of the unknown one is done by then.
    await resetToken((await newUser()).email);
    expect([await mailKinds(email), await mailKinds(`unknown.${email}`)]).toEqual([["password_reset"], []]);
  });

  // evidence: password-reset-link-single-use
  it("accepts a link once, also concurrently, after an invalid password", async () => {
    const user = await newUser();
    const token = await resetToken(user.email);
    const gone = await reset("x".repeat(43));
    expectFailure(gone, 404, "no longer valid");
    expectProblems(await reset(token, "short"), "body", ["password"]);
    const answers = await Promise.all([1, 2, 3].map(() => reset(token)));
    expect(answers.map(({ status }) => status).toSorted((one, other) => one - other)).toEqual([
      200, 404, 404,
    ]);
    expect(withoutRequestId(await reset(token, "three herons at the weir"))).toEqual(withoutRequestId(gone));
    expect(await signsIn(user, NEW_PASSWORD)).toBe(true);
  });

  // evidence: password-reset-link-expiry
  it("rejects a link after one hour, and the link of a removed user", async () => {
    const [user, removed] = [await newUser(), await newUser()];
    const earliestMs = Date.now();
    const tokens = [await resetToken(user.email), await resetToken(removed.email)];
    const [link] = await app.database.query<{ at: string }>(
      sql`select to_json(expires_at) as at from email_token where email = ${user.email}`,
    );
    expect(Date.parse(link?.at ?? "")).toBeGreaterThanOrEqual(earliestMs + HOUR_MS);
    expect(Date.parse(link?.at ?? "")).toBeLessThanOrEqual(Date.now() + HOUR_MS);
    await app.database.query(sql`update email_token set expires_at = now() where email = ${user.email}`);
    await app.database.query(sql`delete from user_account where id = ${removed.id}`);
    for (const token of tokens) expectFailure(await reset(token), 404);
    expect(await signsIn(user, VALID_PASSWORD)).toBe(true);
  });

  it("sends three mails per mailbox, and accepts twenty requests per IP address", async () => {
    const { email } = await newUser();
    const headers = accounts.randomClientIpHeader();
    for (let sent = 0; sent < 20; sent += 1) expect((await forget(email, headers)).status).toBe(202);
    expectFailure(await forget(email, headers), 429);
    // The queue runs in order, so earlier tasks are done by then.
    await resetToken((await newUser()).email);
    expect(await mailKinds(email)).toHaveLength(3);
  });

  it("is mailed to a mailbox with too many account request mails", async () => {
    const { email } = await newUser();
    const request = { email, organization_name: "Someone else", organization_type: "agent" };
    for (let sent = 0; sent < 4; sent += 1)
      expect((await post("/auth/account-requests", request)).status).toBe(202);
    await resetToken(email);
  });
});

describe("changing a password", () => {
  // evidence: password-change-ends-other-sessions
  it("ends all sessions but the current one, and invalidates a reset link", async () => {
    const user = await newUser();
    const [own, other, token] = [await signIn(user), await signIn(user), await resetToken(user.email)];
    expectData(await change(own, VALID_PASSWORD));
    expect([await isSignedIn(own), await isSignedIn(other)]).toEqual([true, false]);
    expectFailure(await reset(token, "another heron at the weir"), 404);
    expect([await signsIn(user, VALID_PASSWORD), await signsIn(user, NEW_PASSWORD)]).toEqual([false, true]);
    expect(await actsOf(user.email)).toContain("password.changed");
    await accounts.waitForMail(app, user.email, "password_changed");
  });

  it("and resetting it concurrently: exactly one of them succeeds", async () => {
    for (let round = 0; round < 2; round += 1) {
      const user = await newUser();
      const [browser, token] = [await signIn(user), await resetToken(user.email)];
      const passwords = ["a heron of the reset one", "a heron of the change"] as const;
      const answers = [reset(token, passwords[0]), change(browser, user.password, passwords[1])];
      const statuses = (await Promise.all(answers)).map(({ status }) => status);
      expect(["200 401", "404 200"]).toContain(statuses.join(" "));
      for (const [index, password] of passwords.entries())
        expect(await signsIn(user, password)).toBe(statuses[index] === 200);
    }
  });

  // evidence: password-change-needs-current
  it("requires the current password", async () => {
    const user = await newUser();
    const refused = await change(await signIn(user), "not my password");
    expect(expectProblems(refused, "body", ["current_password"])[0]?.message).toBe("is not your password");
    expect(await signsIn(user, VALID_PASSWORD)).toBe(true);
  });
});

describe("a new password", () => {
  // evidence: password-rules
  it.each([
    ["eleven letters", "herons wait", false],
    ["twelve", "herons waits", true],
    ["128 characters", "heron".repeat(26).slice(0, 128), true],
    ["129 characters", "heron".repeat(26).slice(0, 129), false],
    ["twelve multi-byte characters", "🐦🐟🌊🪨🌾🦆🐸🪵🌿🍂🐚🌙", true],
    ["a common password made longer", "Password123!", false],
    ["digits in order", "123456789012345", false],
    ["a repeated common word", "qwertyqwerty1", false],
    ["one repeated character", "aaaaaaaaaaaaaaaa", false],
    ["four words", "correct horse battery staple", true],
    ["a NUL", "herons wait\0 here", false],
    ["a lone surrogate", "herons wait \ud800 here", false],
  ])("of %s", async (_, password, isGood) => {
    const answer = await change(await signIn(await newUser()), VALID_PASSWORD, password);
    if (isGood) expectData(answer);
    else expectProblems(answer, "body", ["new_password"]);
  });

  // evidence: password-rejects-own-email
  it("must not be the user's e-mail address", async () => {
    const user = await newUser();
    const browser = await signIn(user);
    for (const password of [user.email, user.email.toUpperCase()])
      expectProblems(await change(browser, VALID_PASSWORD, password), "body", ["new_password"]);
  });

  // evidence: password-never-expires, password-unicode-normalized
  it("is stored as argon2id with its own salt, never expires, and is normalised", async () => {
    const [one, other] = [await newUser(), await newUser()];
    const password = "un héron au déversoir";
    for (const user of [one, other]) expectData(await change(await signIn(user), VALID_PASSWORD, password));
    const rows = await app.database.query<{ password: string }>(sql`
      update user_credential set created_at = now() - interval '10 years', updated_at = now() - interval '10 years'
      where user_id = any(${[one.id, other.id]}::uuid[]) returning password`);
    const salts = rows.map(
      ({ password: hash }) =>
        /^\$argon2id\$v=19\$m=19456,t=2,p=1\$([A-Za-z0-9+/]{22})\$[A-Za-z0-9+/]{43}$/.exec(hash)?.[1],
    );
    expect(salts).toEqual([expect.any(String), expect.any(String)]);
    expect(salts[0]).not.toBe(salts[1]);
    expect(await signsIn(one, password.normalize("NFD"))).toBe(true);
  });
});
