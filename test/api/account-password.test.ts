import { beforeAll, describe, expect, it } from "vitest";
import { sql } from "../../src/core/postgres/sql.ts";
import {
  VALID_PASSWORD,
  createTestUser,
  createSessionClient,
  signIn,
  type SessionClient,
  type TestUser,
  enableTwoFactor,
} from "../support/accounts/session-client.ts";
import {
  waitForMail,
  listMailsTo,
  randomClientIpHeader,
  extractLinkToken,
} from "../support/accounts/mails.ts";
import {
  expectData,
  expectEnvelope,
  expectFailure,
  expectProblems,
  withoutRequestId,
} from "../support/app/assertions.ts";
import { HOUR_MS } from "../support/fake-clock.ts";
import type { ApiResponse } from "../support/app/app-instance.ts";
import type { TestOrganization } from "../support/app/app.fixture.ts";
import { sharedApp, type SharedApp } from "../support/app/shared-app.ts";
import { openTransaction, waitForBlockedSessions } from "../support/database/blocked-sessions.ts";

const NEW_PASSWORD = "two herons wait at the weir";

let app: SharedApp;
let agent: TestOrganization;

beforeAll(async () => {
  app = await sharedApp("api");
  agent = await app.createOrganization("agent");
});

function newPerson(): Promise<TestUser> {
  return createTestUser(app, { organizationId: agent.id, role: "dispatcher" });
}

/** From a different IP address each time. */
function post(path: string, body: object): Promise<ApiResponse> {
  return createSessionClient(app).post(path, body);
}

function reset(token: string, password = NEW_PASSWORD): Promise<ApiResponse> {
  return post("/auth/password/reset", { token, password });
}

async function resetToken(email: string): Promise<string> {
  expect((await post("/auth/password/forgotten", { email })).status).toBe(202);
  return extractLinkToken(await waitForMail(app, email, "password_reset"), "reset-password");
}

async function isSignedIn(browser: SessionClient): Promise<boolean> {
  const { status } = await browser.get("/auth/session");
  expect([200, 401]).toContain(status);
  return status === 200;
}

async function signsIn({ email }: TestUser, password: string): Promise<boolean> {
  const { status } = await post("/auth/sign-in/email", { email, password });
  expect([200, 401]).toContain(status);
  return status === 200;
}

function change(browser: SessionClient, current: string, next = NEW_PASSWORD): Promise<ApiResponse> {
  return browser.post("/auth/password/change", { current_password: current, new_password: next });
}

/** Turns two-factor authentication on. */
async function secure(person: TestUser): Promise<void> {
  const browser = await signIn(app, person);
  await enableTwoFactor(browser, person);
}

async function actsOf(email: string): Promise<string[]> {
  const rows = await app.database.query<{ action: string }>(
    sql`select action from audit_entry where actor = ${email} or subject = ${email} order by id`,
  );
  return rows.map(({ action }) => action);
}

describe("a password reset", () => {
  // evidence: password-reset-ends-sessions
  it("by the mailed link sets the password, ends every session and mails the user", async () => {
    const person = await newPerson();
    const browsers = [await signIn(app, person), await signIn(app, person)];
    expectData(await reset(await resetToken(person.email)));
    for (const browser of browsers) expect(await isSignedIn(browser)).toBe(false);
    expect(await signsIn(person, VALID_PASSWORD)).toBe(false);
    expect(await signsIn(person, NEW_PASSWORD)).toBe(true);
    expect((await listMailsTo(app, person.email)).map(({ kind }) => kind)).toEqual([
      "password_reset",
      "password_changed",
    ]);
    expect(await actsOf(person.email)).toEqual(
      expect.arrayContaining(["password.forgotten", "password.reset"]),
    );
  });

  it.each(["the password alone", "two-factor authentication"])(
    "ends a sign-in in progress with the old password and %s",
    async (what) => {
      const person = await newPerson();
      if (what === "two-factor authentication") await secure(person);
      const token = await resetToken(person.email);
      // The session waits for this lock before it is written, and the reset before it deletes sessions.
      const holding = await openTransaction(
        app.database,
        sql`select from user_account where id = ${person.id}::uuid for update`,
      );
      const thief = createSessionClient(app);
      const { email, password } = person;
      const underWay = thief.post("/auth/sign-in/email", { email, password });
      await waitForBlockedSessions(app.database, 1);
      const resetting = reset(token);
      await waitForBlockedSessions(app.database, 2);
      await holding.commit();
      expectData(await resetting);
      expectFailure(await underWay, 401);
      expect(await isSignedIn(thief)).toBe(false);
      const rows = await app.database.query(sql`
        select 1 from user_session where user_id = ${person.id}::uuid
        union all select 1 from user_verification where value = ${person.id}`);
      expect(rows).toEqual([]);
    },
  );

  it("gets the same response for an unknown e-mail address, which gets no mail", async () => {
    const person = await newPerson();
    const known = await post("/auth/password/forgotten", { email: person.email });
    const unknownEmail = `unknown.${person.email}`;
    const unknown = await post("/auth/password/forgotten", { email: unknownEmail });
    expectEnvelope(known);
    expect(withoutRequestId(unknown)).toEqual(withoutRequestId(known));
    // The queue runs in order, so the request of the unknown one is done by then.
    await resetToken((await newPerson()).email);
    expect(await listMailsTo(app, person.email)).toHaveLength(1);
    expect(await listMailsTo(app, unknownEmail)).toEqual([]);
  });

  // evidence: password-reset-link-single-use
  it("accepts a link once, and not a previous one", async () => {
    const person = await newPerson();
    const former = await resetToken(person.email);
    await app.database.query(sql`delete from mail where recipient = ${person.email}`);
    const token = await resetToken(person.email);
    expect(token).not.toBe(former);
    const gone = await reset(former);
    expectFailure(gone, 404, "no longer valid");
    expectData(await reset(token));
    const replayed = await reset(token, "three herons at the weir");
    expect(withoutRequestId(replayed)).toEqual(withoutRequestId(gone));
    expect(withoutRequestId(await reset("x".repeat(43)))).toEqual(withoutRequestId(gone));
    expect(await signsIn(person, NEW_PASSWORD)).toBe(true);
  });

  it("accepts only one of two concurrent uses", async () => {
    const person = await newPerson();
    const token = await resetToken(person.email);
    const answers = await Promise.all([1, 2, 3].map((index) => reset(token, `${NEW_PASSWORD} ${index}`)));
    expect(answers.map(({ status }) => status).toSorted((one, other) => one - other)).toEqual([
      200, 404, 404,
    ]);
  });

  // evidence: password-reset-link-expiry
  it("rejects a link after one hour", async () => {
    const person = await newPerson();
    const earliestMs = Date.now();
    const token = await resetToken(person.email);
    const latestMs = Date.now();
    const [link] = await app.database.query<{ at: string }>(
      sql`select to_json(expires_at) as at from email_token where email = ${person.email}`,
    );
    expect(Date.parse(link?.at ?? "")).toBeGreaterThanOrEqual(earliestMs + HOUR_MS);
    expect(Date.parse(link?.at ?? "")).toBeLessThanOrEqual(latestMs + HOUR_MS);
    await app.database.query(sql`update email_token set expires_at = now() where email = ${person.email}`);
    expectFailure(await reset(token), 404);
    expect(await signsIn(person, VALID_PASSWORD)).toBe(true);
  });

  it("keeps the link valid after an invalid password", async () => {
    const person = await newPerson();
    const token = await resetToken(person.email);
    expectProblems(await reset(token, "short"), "body", ["password"]);
    expectData(await reset(token));
  });

  it("rejects the link of a removed user", async () => {
    const person = await newPerson();
    const token = await resetToken(person.email);
    await app.database.query(sql`delete from user_account where id = ${person.id}`);
    expectFailure(await reset(token), 404);
  });

  it("stores only a hash of the token", async () => {
    const token = await resetToken((await newPerson()).email);
    const [row] = await app.database.query<{ text: string }>(
      sql`select string_agg(email_token::text, '') as text from email_token`,
    );
    expect(row?.text).not.toContain(token);
    expect(row?.text).not.toContain(Buffer.from(token).toString("hex"));
  });

  it("sends three mails per mailbox, and accepts twenty requests per IP address", async () => {
    const { email } = await newPerson();
    const headers = randomClientIpHeader();
    const answers: ApiResponse[] = [];
    for (let index = 0; index < 21; index += 1) {
      const body = JSON.stringify({ email });
      answers.push(
        await createSessionClient(app).call("/auth/password/forgotten", { method: "POST", body, headers }),
      );
    }
    expect(answers.slice(0, 20).map(({ status }) => status)).toEqual(Array.from({ length: 20 }, () => 202));
    expectFailure(answers[20]!, 429);
    // The queue runs in order, so earlier tasks are done by then.
    const other = await newPerson();
    await resetToken(other.email);
    expect((await listMailsTo(app, email)).length).toBe(3);
  });
});

describe("a mailbox with too many account request mails", () => {
  it("still gets the password reset mail", async () => {
    const { email } = await newPerson();
    const request = { email, organization_name: "Someone else", organization_type: "agent" };
    for (let index = 0; index < 4; index += 1)
      expect((await post("/auth/account-requests", request)).status).toBe(202);
    await resetToken(email);
  });
});

describe("changing a password", () => {
  it("invalidates an earlier reset link", async () => {
    const person = await newPerson();
    const token = await resetToken(person.email);
    expectData(await change(await signIn(app, person), VALID_PASSWORD));
    expectFailure(await reset(token, "another heron at the weir"), 404);
    expect(await signsIn(person, NEW_PASSWORD)).toBe(true);
  });

  // evidence: password-change-ends-other-sessions
  it("ends all sessions but the current one", async () => {
    const person = await newPerson();
    const [own, other] = [await signIn(app, person), await signIn(app, person)];
    expectData(await change(own, VALID_PASSWORD));
    expect(await isSignedIn(own)).toBe(true);
    expect(await isSignedIn(other)).toBe(false);
    expect(await signsIn(person, VALID_PASSWORD)).toBe(false);
    expect(await signsIn(person, NEW_PASSWORD)).toBe(true);
    expect(await actsOf(person.email)).toContain("password.changed");
    await waitForMail(app, person.email, "password_changed");
  });

  it("and resetting it concurrently: exactly one of them succeeds", async () => {
    for (let round = 0; round < 2; round += 1) {
      const person = await newPerson();
      const [browser, token] = [await signIn(app, person), await resetToken(person.email)];
      const answers = await Promise.all([
        reset(token, "a heron of the reset one"),
        change(browser, person.password, "a heron of the change"),
      ]);
      const statuses = answers.map(({ status }) => status);
      expect([
        [200, 401],
        [404, 200],
      ]).toContainEqual(statuses);
      expect(await signsIn(person, "a heron of the reset one")).toBe(statuses[0] === 200);
      expect(await signsIn(person, "a heron of the change")).toBe(statuses[1] === 200);
    }
  });

  // evidence: password-change-needs-current
  it("requires the current password and a session", async () => {
    const person = await newPerson();
    const browser = await signIn(app, person);
    const [problem] = expectProblems(await change(browser, "not my password"), "body", ["current_password"]);
    expect(problem?.message).toBe("is not your password");
    expectFailure(await change(createSessionClient(app), VALID_PASSWORD), 401);
    expect(await signsIn(person, VALID_PASSWORD)).toBe(true);
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
    const browser = await signIn(app, await newPerson());
    const answer = await browser.post("/auth/password/change", {
      current_password: VALID_PASSWORD,
      new_password: password,
    });
    if (isGood) expectData(answer);
    else expectProblems(answer, "body", ["new_password"]);
  });

  // evidence: password-rejects-own-email
  it("must not be the user's e-mail address", async () => {
    const person = await newPerson();
    const browser = await signIn(app, person);
    for (const password of [person.email, person.email.toUpperCase()]) {
      const body = { current_password: VALID_PASSWORD, new_password: password };
      expectProblems(await browser.post("/auth/password/change", body), "body", ["new_password"]);
    }
  });

  it("is stored as argon2id with its own salt", async () => {
    const people = [await newPerson(), await newPerson()];
    for (const person of people) expectData(await change(await signIn(app, person), VALID_PASSWORD));
    const rows = await app.database.query<{ password: string }>(
      sql`select password from user_credential where user_id = any(${people.map(({ id }) => id)}::uuid[])`,
    );
    expect(rows).toHaveLength(2);
    for (const { password } of rows)
      expect(password).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/);
    expect(new Set(rows.map(({ password }) => password)).size).toBe(2);
  });

  // evidence: password-never-expires
  it("never expires", async () => {
    const person = await newPerson();
    await app.database.query(sql`
      update user_credential set created_at = now() - interval '10 years', updated_at = now() - interval '10 years'
      where user_id = ${person.id}::uuid`);
    expect(await signsIn(person, VALID_PASSWORD)).toBe(true);
  });

  // evidence: password-unicode-normalized
  it("is normalised, so that composed and decomposed accents match", async () => {
    const person = await newPerson();
    const browser = await signIn(app, person);
    const body = { current_password: VALID_PASSWORD, new_password: "un héron au déversoir" };
    expectData(await browser.post("/auth/password/change", body));
    expect(await signsIn(person, "un héron au déversoir".normalize("NFD"))).toBe(true);
  });
});
