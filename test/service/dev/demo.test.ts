/** The demo: its keys and logins, which `npm start` and `waymark demo` print. */
import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { sql } from "../../../src/core/postgres/sql.ts";
import { ensureDemo, type Demo } from "../../../src/dev/demo/demo.ts";
import { createSessionClient, signIn } from "../../support/accounts/session-client.ts";
import { expectData } from "../../support/app/assertions.ts";
import { startTestApp, type TestApp } from "../../support/app/app.fixture.ts";
import { startAppInstance } from "../../support/app/app-instance.ts";
import { openTransaction, waitForBlockedSessions } from "../../support/database/blocked-sessions.ts";
import { createCliRunner } from "../../support/processes/cli-process.ts";
import { TEST_SECRET } from "../../support/test-secret.ts";

let app: TestApp;
let dataDir: string;
const file = (name: "keys" | "logins"): string => join(dataDir, `demo-${name}.json`);

beforeAll(async () => {
  app = await startTestApp();
  dataDir = await mkdtemp(join(tmpdir(), "waymark-demo-"));
});
afterAll(async () => {
  await app[Symbol.asyncDispose]();
  await rm(dataDir, { recursive: true, force: true });
});

async function ensure(): Promise<Demo> {
  const demo = await ensureDemo({ ...app, dataDir });
  if (!demo) throw new Error("There is no demo");
  return demo;
}

/** Creates the users with new passwords. */
async function recreateLogins(): Promise<Demo["logins"]> {
  await app.database.query(sql`delete from user_account`);
  await rm(file("logins"), { force: true });
  return (await ensure()).logins;
}

it("creates the demo's keys once", async () => {
  const { agent, contractor, test, operator } = await ensure();
  expect(await ensure()).toMatchObject({ agent, contractor, test, operator });
  expect(new Set([agent, contractor, test, operator]).size).toBe(4);
  expect(test).toMatch(/^wmk_test_/);
  const created = await app.call("/v1/test/jobs", { key: test, method: "POST", body: "{}" });
  expect(created.status).toBe(201);
});

it("waits for a process that creates it, longer than a request waits for a lock", async () => {
  await using other = await startAppInstance(app.databaseUrl, {}, { lockTimeoutMs: 1 });
  const lock = sql`select pg_advisory_xact_lock(hashtext('waymark.demo'))`;
  const creating = await openTransaction(app.database, lock);
  const demo = ensureDemo({ ...other, dataDir });
  await waitForBlockedSessions(app.database, 1);
  await creating.commit();
  expect((await demo)?.agent).toMatch(/^wmk_/);
});

it.each(["", '{"agent": "wmk_1', "null", '{"agent": 7, "operator": null}', '{"agent": "\\u0000"}'])(
  "creates working keys if demo-keys.json contains %j",
  async (damaged) => {
    await writeFile(file("keys"), damaged);
    const { agent, contractor, test, operator } = await ensure();
    expect((await app.call("/v1/jobs", { key: agent })).status).toBe(200);
    expect(JSON.parse(await readFile(file("keys"), "utf8"))).toEqual({ agent, contractor, test, operator });
  },
);

it.each(["", '{"agent": {"email": "age', '{"agent": 7, "operator": {"password": 7}}'])(
  "returns null passwords if demo-logins.json contains %j",
  async (damaged) => {
    await ensure();
    await writeFile(file("logins"), damaged);
    const { logins } = await ensure();
    expect(logins.operator).toEqual({ email: "operator@waymark.example", password: null });
  },
);

it("returns logins with which the agent, contractor and operator can sign in", async () => {
  const roles: unknown[] = [];
  for (const { email, password } of Object.values(await recreateLogins())) {
    const browser = await signIn(app, { email, password: password ?? "" });
    const { user, organization } = expectData(await browser.get("/auth/session"));
    roles.push([user.email, user.role, organization?.type ?? null]);
  }
  expect(roles).toEqual([
    ["agent@waymark.example", "owner", "agent"],
    ["contractor@waymark.example", "owner", "contractor"],
    ["operator@waymark.example", "operator", null],
  ]);
});

// evidence: demo-passwords-random
it("creates a different password for each user once, and stores them with mode 0600", async () => {
  const logins = await recreateLogins();
  expect((await ensure()).logins).toEqual(logins);
  expect(new Set(Object.values(logins).map(({ password }) => password)).size).toBe(3);
  expect(JSON.parse(await readFile(file("logins"), "utf8"))).toEqual(logins);
  expect((await stat(file("logins"))).mode & 0o777).toBe(0o600);
});

it("returns null for a password that the user has changed, and keeps the new password", async () => {
  const { agent } = await recreateLogins();
  const browser = createSessionClient(app);
  expectData(await browser.post("/auth/sign-in/email", agent));
  const change = { current_password: agent.password, new_password: "a heron waits at the weir" };
  expectData(await browser.post("/auth/password/change", change));
  expect((await ensure()).logins.agent).toEqual({ email: agent.email, password: null });
  await signIn(app, { email: agent.email, password: change.new_password });
});

it("creates a removed user again", async () => {
  await app.database.query(sql`delete from user_account where email = 'contractor@waymark.example'`);
  const { contractor } = (await ensure()).logins;
  expect(contractor.password).not.toBeNull();
  await signIn(app, { email: contractor.email, password: contractor.password ?? "" });
});

it("waymark demo prints the same keys and logins each time", async () => {
  const { agent, operator } = await recreateLogins();
  const keys = await ensure();
  const { run, runJson } = createCliRunner(() => ({
    DATABASE_URL: app.databaseUrl,
    WAYMARK_SECRET: TEST_SECRET,
    WAYMARK_DATA_DIR: dataDir,
  }));
  expect(await runJson("demo")).toMatchObject({
    agent_key: keys.agent,
    contractor_key: keys.contractor,
    test_key: keys.test,
    logins: { agent, operator },
  });
  expect((await run("demo")).stdout).toContain(
    `  operator:\n    email: ${operator.email}\n    password: ${operator.password}\n`,
  );
});
