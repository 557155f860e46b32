import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { sql } from "../../../src/core/postgres/sql.ts";
import {
  VALID_PASSWORD,
  createTestUser,
  createSessionClient,
  signIn,
  type SessionClient,
  type TestUser,
  enableTwoFactor,
} from "../../support/accounts/session-client.ts";
import { listMailsTo } from "../../support/accounts/mails.ts";
import { expectData, expectFailure } from "../../support/app/assertions.ts";
import { createCliRunner, parseOutput } from "../../support/processes/cli-process.ts";
import { TEST_SECRET } from "../../support/test-secret.ts";
import { startTestApp, type TestApp, type TestOrganization } from "../../support/app/app.fixture.ts";
import { totpCode } from "../../support/accounts/totp.ts";

let app: TestApp;
let agent: TestOrganization;
const { run, runJson } = createCliRunner(() => ({
  DATABASE_URL: app.databaseUrl,
  WAYMARK_SECRET: TEST_SECRET,
  PUBLIC_URL: "https://console.example",
}));

beforeAll(async () => {
  // No worker runs, so the mails stay in the queue and can be read.
  // Not the shared app: the command reads all encrypted data, which other tests damage.
  app = await startTestApp({ WAYMARK_ROLE: "api" });
  agent = await app.createOrganization("agent");
});
afterAll(() => app[Symbol.asyncDispose]());

interface TwoFactorUser extends TestUser {
  uri: string;
  browser: SessionClient;
}

async function createTwoFactorUser(): Promise<TwoFactorUser> {
  const user = await createTestUser(app, { organizationId: agent.id, role: "dispatcher" });
  const browser = await signIn(app, user);
  const { uri } = await enableTwoFactor(browser, user);
  return { ...user, uri, browser };
}

const reset = (...args: string[]) => run("user", "reset-two-factor", ...args);

describe("user reset-two-factor", () => {
  // evidence: two-factor-reset-by-operator
  it("turns two-factor authentication off, revokes all sessions, and keeps the password", async () => {
    const user = await createTwoFactorUser();
    const halfSignedIn = createSessionClient(app);
    const { email, password } = user;
    expectData(await halfSignedIn.post("/auth/sign-in/email", { email, password }));

    expect(await runJson("user", "reset-two-factor", email.toUpperCase())).toEqual({
      email,
      sessions_ended: 1,
    });

    expectFailure(await user.browser.get("/auth/session"), 401);
    const code = totpCode(user.uri, 1);
    expectFailure(await halfSignedIn.post("/auth/two-factor/verify-totp", { code }), 401);
    const stored = await app.database.query(
      sql`select from user_two_factor where user_id = ${user.id}::uuid`,
    );
    expect(stored).toEqual([]);
    const browser = await signIn(app, user);
    expect(expectData(await browser.get("/auth/session")).user.has_two_factor).toBe(false);
    // The user can set it up again.
    expectData(await browser.post("/auth/two-factor/enable", { password }));
  });

  it("records an audit entry and mails the user", async () => {
    const { email } = await createTwoFactorUser();
    const { code, stdout } = await reset(email);
    expect(code).toBe(0);
    expect(stdout).toContain(email);
    const entries = await app.database.query(sql`
      select actor, by_operator, organization_id, details from audit_entry
      where action = 'two_factor.reset' and subject = ${email}`);
    expect(entries).toEqual([
      { actor: "system", by_operator: true, organization_id: agent.id, details: { sessions_ended: 1 } },
    ]);
    const mail = (await listMailsTo(app, email)).at(-1);
    expect(mail).toMatchObject({
      kind: "two_factor_reset",
      text: expect.stringContaining("https://console.example/forgotten-password"),
    });
  });

  it("fails and sends no mail if the account does not exist or has no two-factor authentication", async () => {
    const { email } = await createTestUser(app, { organizationId: agent.id, role: "dispatcher" });
    const [unknown, off, nonsense, missing] = await Promise.all([
      reset("unknown@test.example", "--json"),
      reset(email),
      reset("nonsense"),
      reset(),
    ]);
    expect(parseOutput(unknown, 1)).toMatchObject({ error: { code: "NotFoundException", hint: null } });
    expect(off).toMatchObject({ code: 1, stdout: "" });
    expect(off.stderr).toContain("Two-factor authentication is off");
    expect(nonsense).toMatchObject({ code: 2, stdout: "" });
    expect(missing).toMatchObject({ code: 2, stdout: "" });
    expect(await listMailsTo(app, email)).toEqual([]);
  });
});

async function createOperator(email: string): Promise<string> {
  const { url } = await runJson("operator", "create", "--email", email);
  const [, token = ""] = /^https:\/\/console\.example\/invitation#token=([\w-]{43})$/.exec(url) ?? [];
  return token;
}

const accept = (token: string) =>
  createSessionClient(app).post("/auth/links/accept", { token, name: "A Heron", password: VALID_PASSWORD });

describe("user recover", () => {
  it("prints a link that sets a new password, and is in the audit log", async () => {
    const { email } = await createTestUser(app, { organizationId: null, role: "operator" });
    const { url } = await runJson("user", "recover", email);
    const password = "a kestrel over the quarry";
    const token = /#token=([\w-]{43})$/.exec(String(url))?.[1];
    expectData(await createSessionClient(app).post("/auth/password/reset", { token, password }));
    await signIn(app, { email, password });
    const [entry] = await app.database.query<{ action: string }>(
      sql`select action from audit_entry where subject = ${email} order by id limit 1`,
    );
    expect(entry?.action).toBe("password.recovered");
  });
});

describe("operator create", () => {
  it("prints a link that lets the operator choose a password and sign in", async () => {
    const token = await createOperator("First@Test.example");
    expectData(await accept(token));
    const browser = await signIn(app, { email: "first@test.example", password: VALID_PASSWORD });
    expect(expectData(await browser.get("/auth/session"))).toMatchObject({
      user: { name: "A Heron", role: "operator" },
      organization: null,
    });
    expectFailure(await accept(token), 404);
  });

  it("prints a new link when run again, and the previous link stops working", async () => {
    const previous = await createOperator("second@test.example");
    const token = await createOperator("second@test.example");
    expectFailure(await accept(previous), 404);
    expectData(await accept(token));
  });

  it("fails for an e-mail address that has an account, and for an invalid one", async () => {
    expectData(await accept(await createOperator("third@test.example")));
    const [known, nonsense, missing] = await Promise.all([
      run("operator", "create", "--email", "third@test.example"),
      run("operator", "create", "--email", "nonsense"),
      run("operator", "create"),
    ]);
    expect(known).toMatchObject({ code: 1, stdout: "" });
    expect(known.stderr).toContain("already has an account");
    expect(nonsense).toMatchObject({ code: 2, stdout: "" });
    expect(missing).toMatchObject({ code: 2, stdout: "" });
  });

  it("records an audit entry", async () => {
    await createOperator("fourth@test.example");
    const [entry] = await app.database.query(sql`
      select action, actor, details from audit_entry where details ->> 'email' = 'fourth@test.example'`);
    expect(entry).toMatchObject({ action: "member.invited", actor: "system" });
  });
});
