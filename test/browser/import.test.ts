/** An operator imports a workbook in the console. */
import { beforeAll, it, vi } from "vitest";
import { createTestUser } from "../support/accounts/session-client.ts";
import type { SharedApp } from "../support/app/shared-app.ts";
import { startConsole } from "../support/browser/shared-console.ts";
import { BROWSER_START_TIMEOUT_MS, BROWSER_TIMEOUT_MS, openTab } from "../support/browser/tabs.ts";
import { workbook } from "../support/jobs/workbook.ts";

vi.setConfig({ testTimeout: BROWSER_TIMEOUT_MS, hookTimeout: BROWSER_START_TIMEOUT_MS });

let app: SharedApp;
beforeAll(async () => {
  app = await startConsole();
});

it("shows why a file cannot be read, and imports the rows of a workbook", async () => {
  const { name: agent } = await app.createOrganization("agent");
  const user = await createTestUser(app, { organizationId: null, role: "operator" });
  const { page } = await openTab(app, { user });
  await page.goto("/operator/import");
  const choose = async (name: string, buffer: Buffer): Promise<void> =>
    await page
      .getByLabel("File to import")
      .setInputFiles({ name, mimeType: "application/octet-stream", buffer });

  await choose("jobs.xlsx", Buffer.from("marking_number\n"));
  await page.getByText("not a workbook that Excel can open").waitFor();

  const row = [`${agent}-1`, agent, new Date("2026-12-31")];
  await choose("jobs.xlsx", workbook([["Tracking number", "agent", "scheduled_date"], row, [`${agent}-2`]]));
  await page.getByText("Columns of jobs.xlsx").waitFor();
  await page.getByText("2026-12-31").first().waitFor();
  await page.getByRole("button", { name: "Preview" }).click();
  await page.getByRole("button", { name: "Import 1 row" }).click();
  await page.getByText("is missing: no job has this Marking Number").waitFor();
  await page.getByText(`${agent}-2`).waitFor();
});
