/** The command line on a database with the webhook services and one agent. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach } from "vitest";
import type { OrganizationPrincipal } from "../../../src/core/principal.ts";
import { sql } from "../../../src/core/postgres/sql.ts";
import { createCliRunner } from "./cli-process.ts";
import { TEST_SECRET } from "../test-secret.ts";
import { openWebhookServiceFixture, type WebhookServiceFixture } from "../webhooks/service.fixture.ts";

/** The URL of endpoints that receive nothing. */
export const UNUSED_URL = "http://127.0.0.1:9/webhooks";

/** Call once per test file, outside tests: registers the hooks for set-up and clean-up. */
export function useCliWebhooksFixture() {
  let services: WebhookServiceFixture;
  let folder: string;
  let agent: OrganizationPrincipal;
  let org: string;
  beforeAll(async () => {
    services = await openWebhookServiceFixture();
    folder = await mkdtemp(join(tmpdir(), "waymark-cli-"));
    agent = await services.createOrganization("agent");
    const [row] = await services.database.query<{ name: string }>(
      sql`select name from organization where id = ${agent.organizationId}`,
    );
    org = row?.name ?? "";
  });
  // Commands use the system's clock, and verify the time of what the services sign.
  beforeEach(() => services.clock.jump(Date.now() - services.clock.now()));
  afterAll(async () => {
    await services[Symbol.asyncDispose]();
    await rm(folder, { recursive: true, force: true });
  });
  return {
    ...createCliRunner(() => ({
      DATABASE_URL: services.databaseUrl,
      WAYMARK_SECRET: TEST_SECRET,
      WAYMARK_DATA_DIR: join(folder, "data"),
      WEBHOOK_ALLOW_PRIVATE: "on",
    })),
    services: () => services,
    agent: () => agent,
    /** Name of the agent. */
    org: () => org,
    /** Creates an endpoint of the agent and returns its ID. */
    newEndpoint: async (url = UNUSED_URL) => (await services.endpoints.create(agent, { url })).endpoint.id,
  };
}
