/** Creating a test key in the console. */
import { beforeAll, expect, it } from "vitest";
import { createTestUser, type TestUser } from "../support/accounts/session-client.ts";
import { findPageProblems } from "../support/browser/axe.ts";
import { startConsole } from "../support/browser/shared-console.ts";
import { expectVisible, openTab } from "../support/browser/tabs.ts";

const app = await startConsole();
let owner: TestUser;

beforeAll(async () => {
  const agent = await app.createOrganization("agent");
  owner = await createTestUser(app, { organizationId: agent.id, role: "owner" });
});

it("an owner creates a test key, which the list marks", async () => {
  const { page } = await openTab(app, { user: owner });
  await page.goto(`${app.url}/integrations/keys`);
  await page.getByRole("button", { name: "Create API key" }).first().click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Name").fill("Tests in CI");
  await dialog.getByLabel("Test key").check();
  expect(await findPageProblems(page)).toEqual([]);
  await dialog.getByRole("button", { name: "Create API key" }).click();
  await expectVisible(dialog.getByText(/wmk_test_/).first());
  await page.reload();
  const row = page.getByRole("row").filter({ hasText: "Tests in CI" });
  await expectVisible(row.getByText("Test", { exact: true }));
});
