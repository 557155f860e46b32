/** Creating a test key in the console. */
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, it, onTestFinished, vi } from "vitest";
import { createTestUser, type TestUser } from "../support/accounts/session-client.ts";
import { startTestApp, type TestApp } from "../support/app/app.fixture.ts";
import { findAccessibilityViolations } from "../support/browser/axe.ts";
import {
  BROWSER_START_TIMEOUT_MS,
  BROWSER_TIMEOUT_MS,
  DESKTOP,
  expectVisible,
  openTab,
  PHONE,
  startBrowser,
} from "../support/browser/tabs.ts";

vi.setConfig({ testTimeout: BROWSER_TIMEOUT_MS, hookTimeout: BROWSER_START_TIMEOUT_MS });

const opened = new AsyncDisposableStack();
let browser: Browser;
let app: TestApp;
let owner: TestUser;

beforeAll(async () => {
  browser = opened.adopt(await startBrowser(), (instance) => instance.close());
  app = opened.use(await startTestApp({ WAYMARK_ROLE: "api" }));
  const agent = await app.createOrganization("agent");
  owner = await createTestUser(app, { organizationId: agent.id, role: "owner" });
});
afterAll(() => opened.disposeAsync());

it.each([
  ["desktop", DESKTOP],
  ["phone", PHONE],
])("an owner creates a test key, which the list marks: %s", async (name, viewport) => {
  const { page, context } = await openTab(browser, app, { user: owner, viewport });
  onTestFinished(() => context.close());
  await page.goto(`${app.url}/integrations/keys`);
  await page.getByRole("button", { name: "Create API key" }).first().click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Name").fill(`Tests on ${name}`);
  await dialog.getByLabel("Test key").check();
  expect(await findAccessibilityViolations(page)).toEqual([]);
  await dialog.getByRole("button", { name: "Create API key" }).click();
  await expectVisible(dialog.getByText(/wmk_test_/).first());
  await page.reload();
  await expectVisible(page.getByText(`Tests on ${name}`));
  await expectVisible(page.locator("main").getByText("Test", { exact: true }).first());
});
