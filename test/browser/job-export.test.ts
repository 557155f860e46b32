/** A dispatcher exports the jobs of the list for people. */
import { readFile } from "node:fs/promises";
import { Readable } from "node:stream";
import type { Page } from "playwright-core";
import { beforeAll, beforeEach, expect, it, vi } from "vitest";
import { readXlsx } from "../../src/core/records/xlsx.ts";
import { createTestUser } from "../support/accounts/session-client.ts";
import type { TestOrganization } from "../support/app/app.fixture.ts";
import type { SharedApp } from "../support/app/shared-app.ts";
import { findPageProblems } from "../support/browser/axe.ts";
import { startConsole } from "../support/browser/shared-console.ts";
import {
  BROWSER_START_TIMEOUT_MS,
  BROWSER_TIMEOUT_MS,
  expectVisible,
  openTab,
} from "../support/browser/tabs.ts";

vi.setConfig({ testTimeout: BROWSER_TIMEOUT_MS, hookTimeout: BROWSER_START_TIMEOUT_MS });

const COUNT = 120;

let app: SharedApp;
let agent: TestOrganization;
let numbers: string[];
let page: Page;

beforeAll(async () => {
  app = await startConsole();
});
beforeEach(async () => {
  agent = await app.createOrganization("agent");
  const contact = { patch: { recipient_contact: "+44 20 7946 0123" } };
  numbers = await app.createJobs(
    agent,
    Array.from({ length: COUNT }, () => contact),
  );
  const user = await createTestUser(app, { organizationId: agent.id, role: "dispatcher" });
  ({ page } = await openTab(app, { user }));
  await page.goto("/jobs?columns=agent&columns=recipientContact&columns=status&sort=marking_number");
  await expectVisible(page.getByText(`${COUNT} jobs in total`));
});

const choose = async (format: RegExp): Promise<void> => {
  await page.getByRole("button", { name: "Export", exact: true }).click();
  await page.getByRole("menuitem", { name: format }).click();
};

it("saves all pages of the list as a workbook, with its columns, names and labels", async () => {
  const download = page.waitForEvent("download");
  await choose(/^Excel/);
  const file = await download;
  expect(file.suggestedFilename()).toMatch(/^jobs-\d{4}-\d\d-\d\d\.xlsx$/);
  const rows = await Array.fromAsync(readXlsx(Readable.from([await readFile(await file.path())])));
  const texts = rows.map(({ content }) => ("cells" in content ? content.cells.map(({ text }) => text) : []));
  expect(texts[0]).toEqual(["Marking Number", "Status", "Contact", "Agent"]);
  expect(texts[1]).toEqual([numbers.toSorted()[0], "Pending", "+44 20 7946 0123", agent.name]);
  expect(texts.slice(1).map(([number]) => number)).toEqual(numbers.toSorted());
  await expectVisible(page.getByText(`${COUNT} jobs exported to jobs-`));
  await page.getByRole("dialog").waitFor({ state: "hidden" });
});

it("shows the progress, asks before Escape stops it, and saves nothing after Cancel", async () => {
  const downloads: unknown[] = [];
  page.on("download", (download) => downloads.push(download));
  // The second page never arrives.
  let requests = 0;
  await page.route("**/graphql", async (route) => {
    if (!(route.request().postData() ?? "").includes("JobExport")) return await route.continue();
    requests += 1;
    if (requests === 1) await route.continue();
  });
  await choose(/^CSV/);
  const dialog = page.getByRole("dialog", { name: "Exporting jobs" });
  await expectVisible(dialog.getByText(`100 of ${COUNT} jobs`));
  expect(await findPageProblems(page)).toEqual([]);
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Continue" }).click();
  await expectVisible(dialog);
  await dialog.getByRole("button", { name: "Cancel" }).click();
  await dialog.waitFor({ state: "hidden" });
  await choose(/^CSV/);
  await dialog.waitFor();
  expect(downloads).toEqual([]);
});
