/** Links with unknown filters: the page opens without them, and a toast names them. */
import type { Page } from "playwright-core";
import { beforeAll, describe, expect, it, vi } from "vitest";
import { createTestUser, type TestUser } from "../../support/accounts/session-client.ts";
import { startConsole } from "../../support/browser/shared-console.ts";
import {
  BROWSER_START_TIMEOUT_MS,
  BROWSER_TIMEOUT_MS,
  expectVisible,
  openTab,
} from "../../support/browser/tabs.ts";
import type { SharedApp } from "../../support/app/shared-app.ts";

vi.setConfig({ testTimeout: BROWSER_TIMEOUT_MS, hookTimeout: BROWSER_START_TIMEOUT_MS });

let app: SharedApp;
let users: { owner: TestUser; operator: TestUser };

beforeAll(async () => {
  app = await startConsole();
  const agent = await app.createOrganization("agent");
  users = {
    owner: await createTestUser(app, { organizationId: agent.id, role: "owner" }),
    operator: await createTestUser(app, { organizationId: null, role: "operator" }),
  };
  await app.createJobs(agent, [{ markingNumber: "LINK-1", patch: { normalized_status: "failed" } }]);
});

/** Opens the link, waits until it is repaired, and dismisses the notice. */
async function expectRepaired(page: Page, link: string, repaired: string, removed: string): Promise<void> {
  await page.goto(link);
  const notice = page.getByRole("alert").filter({ hasText: "Part of the link was removed" });
  await expectVisible(notice.getByText(`Unknown filters were ignored: ${removed}`));
  await expect.poll(() => page.url()).toBe(`${app.url}${repaired}`);
  await notice.getByRole("button", { name: "Dismiss" }).click();
  await notice.waitFor({ state: "hidden" });
}

describe("a link to the jobs page", () => {
  it("drops unknown filters and names them", async () => {
    const { page, pageErrors } = await openTab(app, { user: users.owner });
    for (const [link, repaired, removed] of [
      ["/jobs?category=NOPE", "/jobs", "category=NOPE"],
      ["/jobs?updated=99y", "/jobs", "updated=99y"],
      ["/jobs?size=7", "/jobs", "size=7"],
      ["/jobs?sort=bogus", "/jobs", "sort=bogus"],
      ["/jobs?due_from=abc", "/jobs", "due_from=abc"],
      ["/jobs?status=no_such", "/jobs", "status=no_such"],
      ["/jobs?status=failed&status=no_such", "/jobs?status=failed", "status=no_such"],
      ["/jobs?category=ATTENTION&category=NOPE&q=LINK", "/jobs?category=ATTENTION&q=LINK", "category=NOPE"],
      ["/jobs?agent=none&columns=secret", "/jobs", "agent=none, columns=secret"],
    ] as const) {
      await expectRepaired(page, link, repaired, removed);
      await expectVisible(page.getByRole("link", { name: "LINK-1" }));
    }
    expect(pageErrors).toEqual([]);
  });

  it("drops default values without a notice", async () => {
    const { page } = await openTab(app, { user: users.owner });
    for (const link of ["/jobs?size=25", "/jobs?sort=-created_at"]) {
      await page.goto(link);
      await expect.poll(() => page.url()).toBe(`${app.url}/jobs`);
      await expectVisible(page.getByRole("link", { name: "LINK-1" }));
      expect(await page.getByRole("alert").count()).toBe(0);
    }
  });
});

const others = {
  owner: [
    ["/integrations/deliveries?status=nope&endpoint=abc", "Deliveries", "endpoint=abc, status=nope"],
    ["/integrations/requests?outcome=nope&key=abc", "Request log", "outcome=nope, key=abc"],
    ["/integrations/usage?days=99", "Usage", "days=99"],
  ],
  operator: [
    ["/operator/requests?status=nope", "Account requests", "status=nope"],
    ["/operator/audit?action=nope&organization=abc", "Audit log", "action=nope, organization=abc"],
    ["/operator/mail?status=nope", "Mail", "status=nope"],
  ],
} as const;

it.each(["owner", "operator"] as const)("drops unknown filters on other pages, for an %s", async (role) => {
  const { page, pageErrors } = await openTab(app, { user: users[role] });
  for (const [link, heading, removed] of others[role]) {
    await expectRepaired(page, link, link.replace(/\?.*/, ""), removed);
    await expectVisible(page.getByRole("heading", { level: 1, name: heading }));
  }
  expect(pageErrors).toEqual([]);
});
