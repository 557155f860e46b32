import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { ensureDemo, type Demo } from "../../../src/dev/demo/demo.ts";
import { sql } from "../../../src/core/postgres/sql.ts";
import { startTestApp, type TestApp } from "../../support/app/app.fixture.ts";
import { createCliRunner } from "../../support/processes/cli-process.ts";
import { TEST_SECRET } from "../../support/test-secret.ts";

let app: TestApp;
let dataDir: string;

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

it("creates the demo's keys once", async () => {
  const { agent, contractor, test, operator } = await ensure();
  expect(await ensure()).toMatchObject({ agent, contractor, test, operator });
  expect(new Set([agent, contractor, test, operator]).size).toBe(4);
  expect(test).toMatch(/^wmk_test_/);
  const created = await app.call("/v1/test/jobs", { key: test, method: "POST", body: "{}" });
  expect(created.status).toBe(201);
});

it.each(["", '{"agent": "wmk_1', "null", "7", '{"agent": 7, "operator": null}', '{"agent": "\\u0000"}'])(
  "creates working keys if demo-keys.json contains %j",
  async (damaged) => {
    const file = join(dataDir, "demo-keys.json");
    await writeFile(file, damaged);
    const { agent, contractor, test, operator } = await ensure();
    const response = await app.call("/v1/jobs", { key: agent });
    expect(response.status).toBe(200);
    expect(JSON.parse(await readFile(file, "utf8"))).toEqual({ agent, contractor, test, operator });
  },
);

it.each(["", '{"agent": {"email": "age', "null", '{"agent": 7, "operator": {"password": 7}}'])(
  "returns null passwords if demo-logins.json contains %j",
  async (damaged) => {
    await ensure();
    await writeFile(join(dataDir, "demo-logins.json"), damaged);
    const { logins } = await ensure();
    expect(logins.operator).toEqual({ email: "operator@waymark.example", password: null });
  },
);

function expectedLogin(role: string) {
  return {
    email: `${role}@waymark.example`,
    password: expect.stringMatching(/^\w{4}(-\w{4}){3}$/),
  };
}

it("waymark demo prints the same keys and logins each time", async () => {
  await app.database.query(sql`delete from user_account`);
  await rm(join(dataDir, "demo-logins.json"), { force: true });
  const { run, runJson } = createCliRunner(() => ({
    DATABASE_URL: app.databaseUrl,
    WAYMARK_SECRET: TEST_SECRET,
    WAYMARK_DATA_DIR: dataDir,
  }));
  const printed = await runJson("demo");
  const { agent: agentKey, contractor: contractorKey, test: testKey } = await ensure();
  expect(printed).toEqual({
    agent_key: agentKey,
    contractor_key: contractorKey,
    test_key: testKey,
    logins: {
      agent: expectedLogin("agent"),
      contractor: expectedLogin("contractor"),
      operator: expectedLogin("operator"),
    },
  });
  const { stdout } = await run("demo");
  expect(stdout).toContain(
    `agent_key: ${agentKey}\ncontractor_key: ${contractorKey}\ntest_key: ${testKey}\n`,
  );
  const { email, password } = printed.logins.operator;
  expect(stdout).toContain(`  operator:\n    email: ${email}\n    password: ${password}\n`);
});
