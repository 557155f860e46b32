import { createHash } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { sql } from "../../src/platform/postgres/sql.ts";
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
  ACCOUNT_ENV,
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
import { createFakeClock, HOUR_MS, type FakeClock } from "../support/fake-clock.ts";
import { startAppInstance, type ApiResponse } from "../support/app/app-instance.ts";
import { startTestApp, type TestOrganization, type TestApp } from "../support/app/app.fixture.ts";
import { eventually } from "../support/eventually.ts";

const NEW_PASSWORD = "two herons wait at the weir";

let app: TestApp;
let clock: FakeClock;
let agent: TestOrganization;

beforeAll(async () => {
  clock = createFakeClock();
  app = await startTestApp(ACCOUNT_ENV, { clock });
  agent = await app.createOrganization("agent");
});
afterAll(() => app[Symbol.asyncDispose]());

function newPerson(): Promise<TestUser> {
  return createTestUser(app, { organizationId: agent.id, role: "member" });
}

/** From a different IP address each time. */
function post(path: string, body: object): Promise<ApiResponse> {
  const headers = randomClientIpHeader();
  return createSessionClient(app).call(path, { method: "POST", body: JSON.stringify(body), headers });
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
  const { status } = await post("/auth/sign-in", { email, password });
  expect([200, 401]).toContain(status);
  return status === 200;
}

function change(browser: SessionClient, current: string, next = NEW_PASSWORD): Promise<ApiResponse> {
  return browser.post("/auth/password/change", { current_password: current, new_password: next });
}

/** Returns the number of sign-in attempts that are in progress or failed. */
async function triesOf(email: string, address: string | undefined): Promise<number> {
  const of = `${email} ${address}`;
  const hash = createHash("sha256").update(of).digest("base64url").slice(0, 22);
  const [row] = await app.database.query<{ tokens: number }>(
    sql`select tokens from rate_limit_bucket where id = ${`sign-in-network:${hash}`}`,
  );
  return row ? Math.round(10 - row.tokens) : 0;
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
      // The reset runs in another process, whose hash queue is empty; the sign-in waits in this one's queue.
      await using other = await startAppInstance(app.databaseUrl, ACCOUNT_ENV, { clock });
      const outsiders = Array.from({ length: 40 }, (_, index) =>
        post("/auth/sign-in", { email: `outsider${index}@test.example`, password: NEW_PASSWORD }),
      );
      const thief = createSessionClient(app);
      const { email, password } = person;
      const headers = randomClientIpHeader();
      const address = headers["x-forwarded-for"];
      const underWay = thief.call("/auth/sign-in", {
        method: "POST",
        body: JSON.stringify({ email, password }),
        headers,
      });
      await eventually(async () => expect(await triesOf(email, address)).toBe(1), { intervalMs: 5 });
      const body = JSON.stringify({ token, password: NEW_PASSWORD });
      expectData(await createSessionClient(other).call("/auth/password/reset", { method: "POST", body }));
      expectFailure(await underWay, 401);
      expect(await isSignedIn(thief)).toBe(false);
      await Promise.all(outsiders);
      const rows = await app.database.query(sql`
        select 1 from user_session where user_id = ${person.id}::uuid
        union all select 1 from user_verification where value = ${person.id}`);
      expect(rows).toEqual([]);
    },
  );

  it("gets the same response for an unknown e-mail address, which gets no mail", async () => {
    const person = await newPerson();
    const known = await post("/auth/password/forgotten", { email: person.email });
    const unknown = await post("/auth/password/forgotten", { email: "unknown@test.example" });
    expectEnvelope(known);
    expect(withoutRequestId(unknown)).toEqual(withoutRequestId(known));
    await waitForMail(app, person.email, "password_reset");
    expect(await listMailsTo(app, "unknown@test.example")).toEqual([]);
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
    const token = await resetToken(person.email);
    clock.advance(HOUR_MS);
    expectFailure(await reset(token), 404);
    expect(await signsIn(person, VALID_PASSWORD)).toBe(true);
    clock.advance(-HOUR_MS);
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
      sql`select coalesce(string_agg(email_token::text, ''), '') as text from email_token`,
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
    for (let round = 0; round < 4; round += 1) {
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
    const rows = await app.database.query<{ password: string }>(
      sql`select password from user_credential where user_id = any(${people.map(({ id }) => id)}::uuid[])`,
    );
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
