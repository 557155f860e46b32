import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { sql } from "../../../src/platform/postgres/sql.ts";
import {
  createTestUser,
  createSessionClient,
  signIn,
  type SessionClient,
  type TestUser,
  enableTwoFactor,
} from "../../support/accounts/session-client.ts";
import { listMailsTo } from "../../support/accounts/mails.ts";
import { expectData, expectFailure } from "../../support/app/assertions.ts";
import { createCliRunner } from "../../support/processes/cli-process.ts";
import { TEST_SECRET } from "../../support/test-secret.ts";
import { startTestApp, type TestOrganization, type TestApp } from "../../support/app/app.fixture.ts";
import { totpCode } from "../../support/accounts/totp.ts";

let app: TestApp;
let agent: TestOrganization;
const { run, runJson: documentOf } = createCliRunner(() => ({
  DATABASE_URL: app.databaseUrl,
  WAYMARK_SECRET: TEST_SECRET,
  PUBLIC_URL: "https://console.example",
}));

beforeAll(async () => {
  // Nothing sends the mails, so that they can be read.
  app = await startTestApp({ WAYMARK_ROLE: "api" });
  agent = await app.createOrganization("agent");
});
afterAll(() => app[Symbol.asyncDispose]());

interface Secured extends TestUser {
  uri: string;
  browser: SessionClient;
}

async function securedPerson(): Promise<Secured> {
  const person = await createTestUser(app, { organizationId: agent.id, role: "member" });
  const browser = await signIn(app, person);
  const { uri } = await enableTwoFactor(browser, person);
  return { ...person, uri, browser };
}

const reset = (...args: string[]) => run("user", "reset-two-factor", ...args);

// Each command is a process of its own, which takes a while on a busy machine.
describe("user reset-two-factor", { timeout: 90_000 }, () => {
  // evidence: two-factor-reset-by-operator
  it("turns it off, ends what was open, and leaves the person their password", async () => {
    const person = await securedPerson();
    const halfway = createSessionClient(app);
    const { email, password } = person;
    expectData(await halfway.post("/auth/sign-in", { email, password }));

    expect(await documentOf("user", "reset-two-factor", email.toUpperCase())).toEqual({
      email,
      sessions_ended: 1,
    });

    expectFailure(await person.browser.get("/auth/session"), 401);
    expectFailure(
      await halfway.post("/auth/two-factor", { code: totpCode(person.uri, 1), kind: "totp" }),
      401,
    );
    const kept = await app.database.query(
      sql`select from user_two_factor where user_id = ${person.id}::uuid`,
    );
    expect(kept).toEqual([]);
    const browser = await signIn(app, person);
    expect(expectData(await browser.get("/auth/session")).user.has_two_factor).toBe(false);
    // And they may have another.
    expectData(await browser.post("/auth/two-factor/begin", { password }));
  });

  it("is kept account of, and told to the person", async () => {
    const { email } = await securedPerson();
    const { code, stdout } = await reset(email);
    expect(code).toBe(0);
    expect(stdout).toContain(email);
    const acts = await app.database.query(sql`
      select actor, by_operator, organization_id, details from audit_entry
      where action = 'two_factor.reset' and subject = ${email}`);
    expect(acts).toEqual([
      { actor: "system", by_operator: true, organization_id: agent.id, details: { sessions_ended: 1 } },
    ]);
    const mail = (await listMailsTo(app, email)).at(-1);
    expect(mail).toMatchObject({
      kind: "two_factor_reset",
      text: expect.stringContaining("https://console.example/forgotten-password"),
    });
  });

  it("is refused where there is nothing to reset, and nothing is told", async () => {
    const { email } = await createTestUser(app, { organizationId: agent.id, role: "member" });
    const [unknown, off, nonsense, missing] = await Promise.all([
      reset("nobody@test.example", "--json"),
      reset(email),
      reset("nonsense"),
      reset(),
    ]);
    expect(unknown.code).toBe(1);
    expect(JSON.parse(unknown.stdout)).toMatchObject({ error: { code: "NotFoundException", hint: null } });
    expect(off).toMatchObject({ code: 1, stdout: "" });
    expect(off.stderr).toContain("no second factor");
    expect(nonsense).toMatchObject({ code: 2, stdout: "" });
    expect(missing).toMatchObject({ code: 2, stdout: "" });
    expect(await listMailsTo(app, email)).toEqual([]);
  });
});
