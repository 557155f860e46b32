import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { ensureDemoLogins, type DemoLogins } from "../../../src/dev/demo/logins.ts";
import { sql } from "../../../src/core/postgres/sql.ts";
import { createSessionClient, signIn } from "../../support/accounts/session-client.ts";
import { expectData } from "../../support/app/assertions.ts";
import { startTestApp, type TestApp } from "../../support/app/app.fixture.ts";

let app: TestApp;
let dataDir: string;
let organizations: { agent: string; contractor: string };

beforeAll(async () => {
  app = await startTestApp();
  dataDir = await mkdtemp(join(tmpdir(), "waymark-demo-"));
  const [agent, contractor] = [
    await app.createOrganization("agent"),
    await app.createOrganization("contractor"),
  ];
  organizations = { agent: agent.id, contractor: contractor.id };
});
afterAll(async () => {
  await app[Symbol.asyncDispose]();
  await rm(dataDir, { recursive: true, force: true });
});

function ensure(): Promise<DemoLogins> {
  return ensureDemoLogins({ database: app.database, dataDir }, organizations);
}

/** Creates the users with new passwords. */
async function recreate(): Promise<DemoLogins> {
  await app.database.query(sql`delete from user_account`);
  await rm(join(dataDir, "demo-logins.json"), { force: true });
  return await ensure();
}

it("returns logins with which the agent, contractor and operator can sign in", async () => {
  const logins = await recreate();
  const roles: unknown[] = [];
  for (const { email, password } of Object.values(logins)) {
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
  const logins = await recreate();
  expect(await ensure()).toEqual(logins);
  expect(new Set(Object.values(logins).map(({ password }) => password)).size).toBe(3);
  const file = join(dataDir, "demo-logins.json");
  expect(JSON.parse(await readFile(file, "utf8"))).toEqual(logins);
  expect((await stat(file)).mode & 0o777).toBe(0o600);
});

it("returns null for a password that the user has changed, and keeps the new password", async () => {
  const { agent } = await recreate();
  const browser = createSessionClient(app);
  expectData(await browser.post("/auth/sign-in", agent));
  const change = { current_password: agent.password, new_password: "a heron waits at the weir" };
  expectData(await browser.post("/auth/password/change", change));
  expect((await ensure()).agent).toEqual({ email: agent.email, password: null });
  await signIn(app, { email: agent.email, password: change.new_password });
});

it("returns null passwords if the logins file was partly written", async () => {
  await ensure();
  await writeFile(join(dataDir, "demo-logins.json"), '{"agent": {"email": "age');
  expect((await ensure()).operator).toEqual({ email: "operator@waymark.example", password: null });
});

it("creates a removed user again", async () => {
  await app.database.query(sql`delete from user_account where email = 'contractor@waymark.example'`);
  const { contractor } = await ensure();
  expect(contractor.password).not.toBeNull();
  await signIn(app, { email: contractor.email, password: contractor.password ?? "" });
});
