/** Checks the pages of test mode with axe, on a phone and a desktop, in light and dark. */
import type { Page } from "playwright-core";
import { beforeAll, expect, it } from "vitest";
import { createTestUser, type TestUser } from "../../support/accounts/session-client.ts";
import { emulateScheme, findPageProblems } from "../../support/browser/axe.ts";
import { startConsole } from "../../support/browser/shared-console.ts";
import { DESKTOP, PHONE, expectVisible, openTab } from "../../support/browser/tabs.ts";
import { BAND, switchTo } from "../../support/browser/test-mode.ts";

const PAGES = [
  ["/", "Dashboard"],
  ["/jobs", "Jobs"],
  ["/jobs/LIVE-MODE-1", "Job not found"],
  ["/integrations/keys", "API keys"],
  ["/integrations/endpoints", "Webhook endpoints"],
  ["/integrations/deliveries", "Deliveries"],
  ["/members", "This page belongs to live mode"],
] as const;

const app = await startConsole();
let owner: TestUser;

beforeAll(async () => {
  const agent = await app.createOrganization("agent");
  owner = await createTestUser(app, { organizationId: agent.id, role: "owner" });
  await app.createJobs(agent, [{ markingNumber: "LIVE-MODE-1" }]);
  const key = { organizationId: agent.id, name: "Tests", createdBy: "test", testSide: "agent" } as const;
  const { text } = await app.keys.create(key);
  await app.call("/v1/test/jobs", { key: text, method: "POST", body: "{}" });
});

/** From 0 (black) to 1 (white): of the text of the selected mode. */
async function luminanceOfLabel(page: Page, mode: string): Promise<number> {
  const label = page.locator("label").filter({ hasText: new RegExp(`^${mode}$`) });
  const color = await label.first().evaluate((element) => getComputedStyle(element).color);
  const channels = color.match(/\d+/g)?.slice(0, 3).map(Number) ?? [];
  return channels.reduce((sum, each) => sum + each, 0) / (3 * 255);
}

it.each([
  ["light", DESKTOP],
  ["dark", DESKTOP],
  ["light", PHONE],
  ["dark", PHONE],
] as const)("is accessible: %s, %j", async (colorScheme, viewport) => {
  const { page, pageErrors } = await openTab(app, { user: owner, viewport });
  await page.goto("/");
  await emulateScheme(page, colorScheme);
  await expectVisible(page.locator("main h1"));
  // axe does not see the indicator behind the text.
  await expect
    .poll(() => luminanceOfLabel(page, "Live"))
    .toSatisfy((value: number) => (colorScheme === "light" ? value < 0.2 : value > 0.8));
  await switchTo(page, "Test");
  await expectVisible(page.getByText(BAND));
  const problems: string[] = [];
  for (const [path, heading] of PAGES) {
    await page.goto(path);
    await expectVisible(page.getByRole("heading", { level: 1, name: heading }));
    problems.push(...(await findPageProblems(page)).map((problem) => `${path}: ${problem}`));
  }
  if (viewport === PHONE) {
    await page.getByRole("button", { name: "Menu", exact: true }).click();
    await expectVisible(page.getByRole("dialog", { name: "Menu" }));
    problems.push(...(await findPageProblems(page)).map((problem) => `menu: ${problem}`));
  }
  expect([...problems, ...pageErrors]).toEqual([]);
});
