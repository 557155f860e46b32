/** The notice about API keys that use something deprecated, on the page of the keys and on the dashboard. */
import type { Page } from "playwright-core";
import { beforeAll, describe, expect, it, vi } from "vitest";
import type { Deprecation } from "../../../src/deprecations/api.ts";
import { sql } from "../../../src/platform/postgres/sql.ts";
import { createTestUser, type TestUser } from "../../support/accounts/session-client.ts";
import { startAppInstance } from "../../support/app/app-instance.ts";
import { createFactories, type TestOrganization } from "../../support/app/app.fixture.ts";
import type { SharedApp } from "../../support/app/shared-app.ts";
import { emulateScheme, findPageProblems } from "../../support/browser/axe.ts";
import { startConsole } from "../../support/browser/shared-console.ts";
import {
  BROWSER_START_TIMEOUT_MS,
  BROWSER_TIMEOUT_MS,
  expectVisible,
  openTab,
  PHONE,
} from "../../support/browser/tabs.ts";

vi.setConfig({ testTimeout: BROWSER_TIMEOUT_MS, hookTimeout: BROWSER_START_TIMEOUT_MS });

const deprecations: readonly Deprecation[] = [
  {
    id: "history",
    target: { operation: "GET /v1/jobs/by-marking/{markingNumber}/history" },
    since: "2026-06-01",
    sunset: "2028-01-31",
    replacement: "Follow GET /v1/events.",
  },
  {
    id: "graphql-pts",
    target: { coordinate: "Job.pts" },
    since: "2026-06-01",
    sunset: "2029-06-30",
    replacement: "Select weight.",
  },
];

let app: SharedApp;
let agent: TestOrganization;
let owner: TestUser;

beforeAll(async () => {
  const { databaseUrl } = await startConsole();
  const instance = await startAppInstance(databaseUrl, { WAYMARK_ROLE: "api" }, { deprecations });
  app = { ...instance, ...createFactories(instance), databaseUrl };
  agent = await app.createOrganization("agent");
  owner = await createTestUser(app, { organizationId: agent.id, role: "owner" });
  await app.createJobs(agent, [{}]);
  return () => instance[Symbol.asyncDispose]();
});

/** Records that the organisation's keys used these deprecations. */
async function recordUses(ids: readonly string[], { id: organizationId }: TestOrganization): Promise<void> {
  await app.database.query(sql`
    insert into deprecation_use (api_key_id, deprecation, organization_id, first_used_at, last_used_at, requests)
    select api_key.id, deprecation, organization_id, now() - interval '2 days', now() - interval '3 hours', 12
    from api_key, unnest(${ids}::text[]) deprecation where organization_id = ${organizationId}::uuid
    on conflict do nothing`);
}

async function openAs(user: TestUser, options: { viewport?: typeof PHONE } = {}) {
  return await openTab(app, { user, ...options });
}

const noticeOf = (page: Page) => page.getByRole("alert").filter({ hasText: "will be removed" });

it("shows nothing while no key uses anything deprecated", async () => {
  const { page } = await openAs(owner);
  await page.goto("/integrations/keys");
  await expectVisible(page.getByRole("table", { name: "API keys", exact: true }));
  expect(await noticeOf(page).count()).toBe(0);
});

describe("once keys use something deprecated", () => {
  beforeAll(async () => {
    for (const name of ["Warehouse sync", "ALongNameWithoutAnySpaceInItThatHasToBreakSomewhere"])
      await app.keys.create({ organizationId: agent.id, name, createdBy: "test" });
    await recordUses(["history", "graphql-pts"], agent);
  });

  it("names each thing, its removal, its replacement and the keys", async () => {
    const { page } = await openAs(owner);
    await page.goto("/integrations/keys");
    const notice = noticeOf(page);
    await expectVisible(notice);
    const text = await notice.innerText();
    expect(text).toContain("API keys use 2 things that will be removed");
    expect(text).toContain("GET /v1/jobs/by-marking/{markingNumber}/history");
    expect(text).toContain("Removed on 31 Jan 2028. Follow GET /v1/events.");
    expect(text).toContain("Removed on 30 Jun 2029. Select weight.");
    const [key] = await app.keys.list(agent.id);
    const list = notice.getByRole("list", { name: "API keys that use GraphQL Job.pts" });
    expect(await list.getByRole("listitem").count()).toBe(3);
    expect(await list.innerText()).toContain(`test ${key?.prefix}…, last used 3 hours ago`);
    const opening = page.waitForEvent("popup");
    await notice.getByRole("link", { name: "Guide: Deprecation (opens a new tab)" }).click();
    await expectVisible((await opening).getByRole("heading", { name: "Deprecation", exact: true }));
  });

  it("says so on the dashboard, with a link to the keys", async () => {
    const { page } = await openAs(owner);
    await page.goto("/");
    const notice = noticeOf(page);
    await expectVisible(notice);
    expect(await notice.innerText()).toContain("history is removed on 31 Jan 2028. Follow GET /v1/events.");
    await notice.getByRole("link", { name: "Show the API keys" }).click();
    await expectVisible(page.getByRole("heading", { name: "API keys", exact: true }));
  });

  it("shows nothing on the dashboard to a member, who manages no keys", async () => {
    const member = await createTestUser(app, { organizationId: agent.id, role: "member" });
    const { page, pageErrors } = await openAs(member);
    await page.goto("/");
    await expectVisible(page.getByRole("heading", { name: "Dashboard" }));
    await expectVisible(page.getByRole("status").getByText("Live", { exact: true }));
    expect(await noticeOf(page).count()).toBe(0);
    expect(pageErrors).toEqual([]);
  });

  it("drops a key that is revoked meanwhile", async () => {
    const partner = await app.createOrganization("contractor");
    const user = await createTestUser(app, { organizationId: partner.id, role: "owner" });
    await recordUses(["history"], partner);
    const { page } = await openAs(user);
    await page.goto("/integrations/keys");
    await expectVisible(noticeOf(page));
    await page.getByRole("button", { name: "Actions for test" }).click();
    await page.getByRole("menuitem", { name: "Revoke…" }).click();
    await page.getByRole("button", { name: /^Revoke/ }).click();
    await noticeOf(page).waitFor({ state: "detached" });
  });

  it("shows five keys at once, and the others on request", async () => {
    const partner = await app.createOrganization("agent");
    for (const name of ["b", "c", "d", "e", "f", "g"])
      await app.keys.create({ organizationId: partner.id, name, createdBy: "test" });
    await recordUses(["history"], partner);
    const user = await createTestUser(app, { organizationId: partner.id, role: "owner" });
    const { page } = await openAs(user, { viewport: PHONE });
    await page.goto("/integrations/keys");
    const items = noticeOf(page).getByRole("listitem");
    await expectVisible(items.first());
    expect(await items.count()).toBe(5);
    await page.getByText("2 more keys").click();
    await expectVisible(items.nth(6));
    expect(await items.count()).toBe(7);
  });

  it.each(["/integrations/keys", "/"])(
    "is accessible and fits the screen on a light desktop and a dark phone: %s",
    async (path) => {
      const { page, pageErrors } = await openAs(owner);
      await page.goto(path);
      await expectVisible(noticeOf(page));
      expect(await findPageProblems(page)).toEqual([]);
      await page.setViewportSize(PHONE);
      await emulateScheme(page, "dark");
      expect([...(await findPageProblems(page, { colorsAlone: true })), ...pageErrors]).toEqual([]);
    },
  );
});
