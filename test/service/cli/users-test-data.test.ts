import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { sql } from "../../../src/core/postgres/sql.ts";
import * as accounts from "../../support/accounts/accounts.fixture.ts";
import { startTestApp } from "../../support/app/app.fixture.ts";
import { createTestMongo } from "../../support/database/test-mongo.ts";
import { createCliRunner, parseOutput } from "../../support/processes/cli-process.ts";
import { TEST_SECRET } from "../../support/test-secret.ts";

const { NEW_PASSWORD, VALID_PASSWORD, createSessionClient, credentialsOf, expectData, expectFailure } =
  accounts;

// No worker runs, so the mails stay in the queue and can be read.
// Not the shared app: the command reads all encrypted data, which other tests damage.
const rig = await accounts.openAccounts(
  await startTestApp({ WAYMARK_ROLE: "api", MONGODB_URL: createTestMongo().url }),
);
const { app, agent, isSignedIn, newUser, post, signIn } = rig;
afterAll(() => app[Symbol.asyncDispose]());

const { run, runJson } = createCliRunner(() => ({
  DATABASE_URL: app.databaseUrl,
  WAYMARK_SECRET: TEST_SECRET,
  PUBLIC_URL: "https://console.example",
}));

const entriesAbout = (email: string) =>
  app.database.query(sql`select action, actor, by_operator, organization_id, details from audit_entry
    where subject = ${email} or details ->> 'email' = ${email} order by id desc`);

const tokenOf = (url: unknown, page: string): string =>
  new RegExp(`^https://console\\.example/${page}#token=([\\w-]{43})$`).exec(String(url))?.[1] ?? "";

const reset = (...args: string[]) => run("user", "reset-two-factor", ...args);
const create = async (email: string) =>
  tokenOf((await runJson("operator", "create", "--email", email)).url, "invitation");
const accept = (token: string) =>
  post("/auth/links/accept", { token, name: "A Heron", password: VALID_PASSWORD });

describe("user reset-two-factor", () => {
  // evidence: two-factor-reset-by-operator
  it("turns two-factor authentication off, ends all sessions, keeps the password, and mails the user", async () => {
    const user = await rig.newSecuredUser();
    const { email, password } = user;
    const halfway = createSessionClient(app);
    expectData(await halfway.post("/auth/sign-in/email", credentialsOf(user)));

    const printed = await runJson("user", "reset-two-factor", email.toUpperCase());
    expect(printed).toEqual({ email, sessions_ended: 1 });

    expect(await isSignedIn(user.browser)).toBe(false);
    const code = accounts.totpCode(user.uri, 1);
    expectFailure(await halfway.post("/auth/two-factor/verify-totp", { code }), 401);
    const secrets = sql`select from user_two_factor where user_id = ${user.id}::uuid`;
    expect(await app.database.query(secrets)).toEqual([]);
    expect((await entriesAbout(email))[0]).toEqual({
      action: "two_factor.reset",
      actor: "system",
      by_operator: true,
      organization_id: agent.id,
      details: { sessions_ended: 1 },
    });
    const { text } = await accounts.waitForMail(app, email, "two_factor_reset");
    expect(text).toContain("https://console.example/forgotten-password");
    // The user can set it up again.
    expectData(await (await signIn(user)).post("/auth/two-factor/enable", { password }));
  });

  it("fails and sends no mail if the account does not exist or has no two-factor authentication", async () => {
    const { email } = await newUser();
    const unknown = await reset("unknown@test.example", "--json");
    expect(parseOutput(unknown, 1)).toMatchObject({ error: { code: "NotFoundException", hint: null } });
    const stderr = expect.stringContaining("Two-factor authentication is off");
    expect(await reset(email)).toMatchObject({ code: 1, stdout: "", stderr });
    for (const args of [["nonsense"], []])
      expect(await reset(...args)).toMatchObject({ code: 2, stdout: "" });
    expect(await accounts.listMailsTo(app, email)).toEqual([]);
  });
});

describe("user recover", () => {
  it("prints a link that sets a new password, and is in the audit log", async () => {
    const { email } = await newUser("operator", null);
    const { url } = await runJson("user", "recover", email);
    expect((await entriesAbout(email))[0]).toMatchObject({ action: "password.recovered" });
    const token = tokenOf(url, "reset-password");
    expectData(await post("/auth/password/reset", { token, password: NEW_PASSWORD }));
    await signIn({ email, password: NEW_PASSWORD });
  });
});

describe("operator create", () => {
  it("prints a link that lets the operator sign in, and invalidates the link of an earlier run", async () => {
    const previous = await create("First@Test.example");
    const token = await create("first@test.example");
    const [entry] = await entriesAbout("first@test.example");
    expect(entry).toMatchObject({ action: "member.invited", actor: "system", by_operator: true });
    expectFailure(await accept(previous), 404);
    expectData(await accept(token));
    const browser = await signIn({ email: "first@test.example", password: VALID_PASSWORD });
    expect(expectData(await browser.get("/auth/session"))).toMatchObject({
      user: { name: "A Heron", role: "operator" },
      organization: null,
    });
  });

  it("fails for an e-mail address that has an account, and for an invalid one", async () => {
    const { email } = await newUser();
    const stderr = expect.stringContaining("already has an account");
    expect(await run("operator", "create", "--email", email)).toMatchObject({ code: 1, stdout: "", stderr });
    for (const args of [["--email", "nonsense"], []])
      expect(await run("operator", "create", ...args)).toMatchObject({ code: 2, stdout: "" });
  });
});

const audited = () =>
  app.database.query(sql`select actor, subject, details from audit_entry where action = 'test_data.deleted'`);

describe("test", () => {
  beforeAll(async () => {
    await app.organizations.create({ name: "Acme", type: "agent" });
    await app.organizations.create({ name: "Swift Couriers", type: "contractor" });
  });

  it("lists test data, and deletes it with an audit entry and cancels runs", async () => {
    expect((await run("test", "list")).stdout).toBe("Nothing to list.\n");
    const { key } = await runJson("key", "create", "--org", "Acme", "--name", "t", "--test");
    const postAs = (path: string, body: object) =>
      app.call(path, { method: "POST", key, body: JSON.stringify(body) });
    const { body } = await postAs("/v1/test/jobs", { count: 2 });
    const [job] = body.data.items as { marking_number: string }[];
    await postAs(`/v1/test/jobs/by-marking/${job?.marking_number}/run`, { path: "on_hold" });

    const { items } = await runJson("test", "list");
    expect(items).toEqual([
      {
        organization_id: expect.stringMatching(/^org_/),
        name: "Acme",
        jobs: 2,
        runs: 1,
        active_keys: 1,
        last_used_at: expect.toSatisfy((at) => at === null || typeof at === "string"),
      },
    ]);
    expect(await audited()).toEqual([]);
    expect(await run("test", "reset", "Acme")).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("jobs: 2\n"),
    });
    expect(await audited()).toEqual([
      {
        actor: "system",
        subject: items[0].organization_id,
        details: { jobs: 2, events: 4, deliveries: 0, requests: expect.any(Number) },
      },
    ]);
    expect((await runJson("test", "list")).items).toMatchObject([{ jobs: 0, runs: 0, active_keys: 1 }]);
  });

  it("fails for an organisation that is unknown or has no test organisations", async () => {
    for (const [org, message] of [
      ["Unknown", 'There is no organisation "Unknown"'],
      ["Swift Couriers", "Swift Couriers has no test organisations"],
    ] as const) {
      const { code, stderr } = await run("test", "reset", org);
      expect([code, stderr]).toEqual([1, expect.stringContaining(message)]);
    }
  });
});
