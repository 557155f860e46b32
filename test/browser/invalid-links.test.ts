/** Links with unknown filters: the page opens without them, and a toast names them. */
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { createTestUser, type TestUser } from "../support/accounts/session-client.ts";
import {
  BROWSER_START_TIMEOUT_MS,
  BROWSER_TIMEOUT_MS,
  expectVisible,
  openTab,
  startBrowser,
  type Tab,
} from "../support/browser/tabs.ts";
import { startTestApp, type TestApp } from "../support/app/app.fixture.ts";

vi.setConfig({ testTimeout: BROWSER_TIMEOUT_MS, hookTimeout: BROWSER_START_TIMEOUT_MS });

const opened = new AsyncDisposableStack();
let browser: Browser;
let app: TestApp;
let users: { owner: TestUser; operator: TestUser };

beforeAll(async () => {
  browser = opened.adopt(await startBrowser(), (instance) => instance.close());
  app = opened.use(await startTestApp({ WAYMARK_ROLE: "api" }));
  const agent = await app.createOrganization("agent");
  users = {
    owner: await createTestUser(app, { organizationId: agent.id, role: "owner" }),
    operator: await createTestUser(app, { organizationId: null, role: "operator" }),
  };
  await app.createJobs(agent, [{ markingNumber: "WM-1", patch: { normalized_status: "failed" } }]);
});
afterAll(() => opened.disposeAsync());

async function visit(user: keyof typeof users, link: string): Promise<Tab> {
  const tab = await openTab(browser, app, { user: users[user] });
  onTestFinished(() => tab.context.close());
  await tab.page.goto(link);
  return tab;
}

describe("a link to the jobs page", () => {
  it.each([
    ["/jobs?category=NOPE", "/jobs", "category=NOPE"],
    ["/jobs?updated=99y", "/jobs", "updated=99y"],
    ["/jobs?size=7", "/jobs", "size=7"],
    ["/jobs?sort=bogus", "/jobs", "sort=bogus"],
    ["/jobs?due_from=abc", "/jobs", "due_from=abc"],
    ["/jobs?status=no_such", "/jobs", "status=no_such"],
    ["/jobs?status=failed&status=no_such", "/jobs?status=failed", "status=no_such"],
    ["/jobs?category=ATTENTION&category=NOPE&q=WM", "/jobs?category=ATTENTION&q=WM", "category=NOPE"],
    ["/jobs?agent=none&columns=secret", "/jobs", "agent=none, columns=secret"],
  ])("drops unknown filters and names them: %s", async (link, repaired, removed) => {
    const { page, pageErrors } = await visit("owner", link);
    await expectVisible(page.getByRole("link", { name: "WM-1" }));
    const notice = page.getByRole("alert").filter({ hasText: "Part of the link was removed" });
    await expectVisible(notice.getByText(`Unknown filters were ignored: ${removed}`));
    await expect.poll(() => page.url()).toBe(`${app.url}${repaired}`);

    await notice.getByRole("button", { name: "Dismiss" }).click();
    await notice.waitFor({ state: "hidden" });
    expect(pageErrors).toEqual([]);
  });

  it.each(["/jobs?size=25", "/jobs?sort=-created_at"])(
    "drops default values without a notice: %s",
    async (link) => {
      const { page } = await visit("owner", link);
      await expectVisible(page.getByRole("link", { name: "WM-1" }));
      await expect.poll(() => page.url()).toBe(`${app.url}/jobs`);
      expect(await page.getByRole("alert").count()).toBe(0);
    },
  );
});

it.each([
  ["owner", "/integrations/deliveries?status=nope&endpoint=abc", "Deliveries", "endpoint=abc, status=nope"],
  ["owner", "/integrations/requests?outcome=nope&key=abc", "Request log", "outcome=nope, key=abc"],
  ["owner", "/integrations/usage?days=99", "Usage", "days=99"],
  ["operator", "/operator/requests?status=nope", "Account requests", "status=nope"],
  ["operator", "/operator/audit?action=nope&organization=abc", "Audit log", "action=nope, organization=abc"],
  ["operator", "/operator/mail?status=nope", "Mail", "status=nope"],
] as const)("drops unknown filters on other pages: as %s, %s", async (user, link, heading, removed) => {
  const { page, pageErrors } = await visit(user, link);
  await expectVisible(page.getByRole("heading", { level: 1, name: heading }));
  await expectVisible(page.getByText(`Unknown filters were ignored: ${removed}`));
  await expect.poll(() => page.url()).toBe(`${app.url}${link.replace(/\?.*/, "")}`);
  expect(pageErrors).toEqual([]);
});
