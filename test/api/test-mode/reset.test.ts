/** A reset of test data under concurrent changes: it leaves no row, and blocks nobody outside this partner's test mode. */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createDataServices } from "../../../src/app/data-services.ts";
import type { TestPrincipal } from "../../../src/test-mode/test-mode.service.ts";
import { systemClock } from "../../../src/platform/clock.ts";
import { systemActor } from "../../../src/platform/principal.ts";
import { startTestApp, type TestApp } from "../../support/app/app.fixture.ts";
import { createTestMongo } from "../../support/database/test-mongo.ts";

let app: TestApp;

beforeAll(async () => {
  // Without a worker, which would send the deliveries in the background.
  const env = { WEBHOOK_ALLOW_PRIVATE: "on", WAYMARK_ROLE: "api", MONGODB_URL: createTestMongo().url };
  app = await startTestApp(env);
});
afterAll(() => app[Symbol.asyncDispose]());

async function createPartner() {
  const { id: liveId } = await app.createOrganization("agent");
  const createKey = () =>
    app.keys.create({ organizationId: liveId, name: "t", createdBy: "test", testSide: "agent" });
  const { key, text } = await createKey();
  const organizationId = key.organization?.id ?? "";
  const principal: TestPrincipal = {
    organizationId,
    organizationType: "agent",
    liveOrganizationId: liveId,
    actor: systemActor,
    requestId: randomUUID(),
  };
  return { liveId, organizationId, principal, key: text, createKey };
}

it("a change of test data in progress does not block new API keys", async () => {
  const { principal, createKey } = await createPartner();
  const { testMode } = createDataServices({
    database: app.database,
    clock: systemClock,
    notifyWorkers: () => undefined,
    recordAccessChange: async () => undefined,
  });
  await app.database.transaction(async (tx) => {
    await testMode.createJobs(principal, { count: 1, template: {}, assigned: true }, tx);
    expect((await createKey()).text).toMatch(/^wmk_test_/);
  });
});
