import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { sql } from "../../../src/core/postgres/sql.ts";
import { startTestApp, type TestApp } from "../../support/app/app.fixture.ts";
import { createTestMongo } from "../../support/database/test-mongo.ts";
import { createCliRunner } from "../../support/processes/cli-process.ts";
import { TEST_SECRET } from "../../support/test-secret.ts";

let app: TestApp;
const { run: waymark, runJson } = createCliRunner(() => ({
  DATABASE_URL: app.databaseUrl,
  WAYMARK_SECRET: TEST_SECRET,
}));

beforeAll(async () => {
  app = await startTestApp({ WAYMARK_ROLE: "api", MONGODB_URL: createTestMongo().url });
  await app.organizations.create({ name: "Acme", type: "agent" });
  await app.organizations.create({ name: "Swift Couriers", type: "contractor" });
});
afterAll(() => app[Symbol.asyncDispose]());

const audited = () =>
  app.database.query(sql`select actor, subject, details from audit_entry where action = 'test_data.deleted'`);

describe("test", () => {
  it("lists test data, and deletes it with an audit entry and cancels runs", async () => {
    expect((await waymark("test", "list")).stdout).toBe("Nothing to list.\n");
    const { key } = await runJson("key", "create", "--org", "Acme", "--name", "t", "--test");
    const post = (path: string, body: object) =>
      app.call(path, { method: "POST", key, body: JSON.stringify(body) });
    const { body } = await post("/v1/test/jobs", { count: 2 });
    const [job] = body.data.items as { marking_number: string }[];
    await post(`/v1/test/jobs/by-marking/${job?.marking_number}/run`, { path: "on_hold" });

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
    expect(await waymark("test", "reset", "Acme")).toMatchObject({
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
      const { code, stderr } = await waymark("test", "reset", org);
      expect([code, stderr]).toEqual([1, expect.stringContaining(message)]);
    }
  });
});
