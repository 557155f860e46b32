/** Operators, and agents whom they allow it, import files in the console. */
import type { Page } from "playwright-core";
import { beforeAll, expect, it, vi } from "vitest";
import { createTestUser } from "../support/accounts/session-client.ts";
import { toTypedId } from "../../src/core/ids.ts";
import type { SharedApp } from "../support/app/shared-app.ts";
import { startConsole } from "../support/browser/shared-console.ts";
import { findPageProblems } from "../support/browser/axe.ts";
import {
  BROWSER_START_TIMEOUT_MS,
  BROWSER_TIMEOUT_MS,
  expectVisible,
  openTab,
} from "../support/browser/tabs.ts";
import { workbook } from "../support/jobs/workbook.ts";

vi.setConfig({ testTimeout: BROWSER_TIMEOUT_MS, hookTimeout: BROWSER_START_TIMEOUT_MS });

let app: SharedApp;
beforeAll(async () => {
  app = await startConsole();
});

const chooseFile = (page: Page, name: string, buffer: Buffer): Promise<void> =>
  page.getByLabel("File to import").setInputFiles({ name, mimeType: "application/octet-stream", buffer });

it("shows why a file cannot be read, and imports the rows of a workbook", async () => {
  const { name: agent } = await app.createOrganization("agent");
  const user = await createTestUser(app, { organizationId: null, role: "operator" });
  const { page } = await openTab(app, { user });
  await page.goto("/import");
  await chooseFile(page, "jobs.xlsx", Buffer.from("marking_number\n"));
  await page.getByText("not a workbook that Excel can open").waitFor();

  const row = [`${agent}-1`, agent, new Date("2026-12-31")];
  await chooseFile(
    page,
    "jobs.xlsx",
    workbook([["Tracking number", "agent", "scheduled_date"], row, [`${agent}-2`]]),
  );
  await page.getByText("Columns of jobs.xlsx").waitFor();
  await page.getByText("2026-12-31").first().waitFor();
  await page.getByRole("button", { name: "Preview" }).click();
  await page.getByRole("button", { name: "Import 1 row" }).click();
  await page.getByText("is missing: no job has this Marking Number").waitFor();
  await page.getByText(`${agent}-2`).waitFor();
});

it("lets a dispatcher of an agent import jobs of the agent once an operator has allowed it", async () => {
  const { id, name: agent } = await app.createOrganization("agent");
  const operator = await createTestUser(app, { organizationId: null, role: "operator" });
  const { page: operators } = await openTab(app, { user: operator });
  await operators.goto(`/operator/organizations/${toTypedId("org", id)}`);
  await operators.getByLabel("Owners and dispatchers can import files").click();
  await expectVisible(operators.getByText(`${agent} can import jobs.`));
  await expectVisible(operators.getByText("Allowed an organisation to import jobs"));
  expect(await findPageProblems(operators)).toEqual([]);

  const user = await createTestUser(app, { organizationId: id, role: "dispatcher" });
  const { page } = await openTab(app, { user });
  await page.goto("/jobs");
  await page.getByRole("main").getByRole("link", { name: "Import jobs" }).click();
  await chooseFile(page, "jobs.csv", Buffer.from(`Tracking;Agent;Recipient\n0${agent};${agent};Noor\n`));
  await expectVisible(page.getByText("1 of 3 columns is skipped."));
  await page.getByRole("combobox", { name: "Import Agent as" }).click();
  await expectVisible(page.getByRole("option", { name: "Contractor" }));
  expect(await page.getByRole("option", { name: /Agent|Carrier/ }).count()).toBe(0);
  await page.keyboard.press("Escape");
  expect(await findPageProblems(page)).toEqual([]);
  await page.getByRole("button", { name: "Preview" }).click();
  await page.getByRole("button", { name: "Import 1 row" }).click();
  await expectVisible(page.getByText("The row was imported."));
  await page.getByRole("link", { name: "View jobs" }).click();
  await expectVisible(page.getByRole("link", { name: `0${agent}` }));
});
