/** The list of jobs as a table: headings that stay, full width, and lines on a phone. */
import type { Page } from "playwright-core";
import { expect, it, vi } from "vitest";
import { createTestUser } from "../support/accounts/session-client.ts";
import { startConsole } from "../support/browser/shared-console.ts";
import {
  BROWSER_START_TIMEOUT_MS,
  BROWSER_TIMEOUT_MS,
  expectVisible,
  openTab,
} from "../support/browser/tabs.ts";

vi.setConfig({ testTimeout: BROWSER_TIMEOUT_MS, hookTimeout: BROWSER_START_TIMEOUT_MS });

async function openList(viewport: { width: number; height: number }, count = 40) {
  const app = await startConsole();
  const agent = await app.createOrganization("agent");
  const contractor = await app.createOrganization("contractor");
  const user = await createTestUser(app, { organizationId: agent.id, role: "dispatcher" });
  const patch = {
    normalized_status: "pending",
    recipient_name: "Margaret Featherstonehaugh-Wetherby",
    scheduled_date: "2020-11-30",
  };
  await app.createJobs(
    agent,
    Array.from({ length: count }, () => ({ contractor, patch })),
  );
  return { ...(await openTab(app, { user, viewport })), app, agent };
}

const heading = (page: Page) => page.getByRole("columnheader", { name: "Marking Number" });
const lastRow = (page: Page) => page.getByRole("row").last();
const top = async (page: Page): Promise<number> => Math.round((await heading(page).boundingBox())!.y);

it("keeps the headings in sight, below the bar at the top, with a job next to the list and with many columns", async () => {
  const { context, page, pageErrors } = await openList({ width: 1920, height: 800 });
  await page.goto("/jobs?size=50");
  await expectVisible(lastRow(page));
  const width = await page.getByRole("table").evaluate((table) => table.clientWidth);
  expect(width).toBeGreaterThan(1_500);
  await context.setOffline(true);
  await expectVisible(page.getByText("You are offline"));
  await lastRow(page).scrollIntoViewIfNeeded();
  await expect.poll(() => top(page)).toBe(0);
  await context.setOffline(false);
  await lastRow(page).getByRole("link").click();
  await expectVisible(page.getByRole("region", { name: /^Job / }));
  await expect.poll(() => top(page)).toBe(0);

  await page.setViewportSize({ width: 900, height: 800 });
  await page.goto("/jobs?size=50");
  await lastRow(page).scrollIntoViewIfNeeded();
  await expect.poll(() => top(page)).toBe(56);

  // Too wide for the page, so the table scrolls by itself in both directions.
  const columns = [
    "due",
    "scheduledDate",
    "scheduledDeliveryDate",
    "failureReason",
    "createdAt",
    "updatedAt",
    "weight",
  ];
  await page.goto(`/jobs?size=50&${columns.map((column) => `columns=${column}`).join("&")}`);
  await lastRow(page).scrollIntoViewIfNeeded();
  const frame = page.getByRole("table").locator("..");
  await expect.poll(() => frame.evaluate((element) => element.scrollTop)).toBeGreaterThan(0);
  const frameTop = async () => Math.round((await frame.boundingBox())!.y) + 1;
  await expect.poll(async () => (await top(page)) - (await frameTop())).toBe(0);
  const fits = () => page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth);
  expect(await fits()).toBe(true);
  expect(pageErrors.filter((error) => !error.includes("INTERNET_DISCONNECTED"))).toEqual([]);
});

it("shows each job in two lines on a phone", async () => {
  const { page, pageErrors } = await openList({ width: 390, height: 844 });
  await page.goto("/jobs");
  await expectVisible(lastRow(page));
  const height = () => page.evaluate(() => document.documentElement.scrollHeight);
  await expect.poll(height).toBeLessThan(2_500);
  await expectVisible(lastRow(page).getByText("Late"));
  await expectVisible(lastRow(page).getByText("Margaret Featherstonehaugh-Wetherby"));
  const line = async (text: string | RegExp) => (await lastRow(page).getByText(text).boundingBox())!.y;
  expect(Math.abs((await line(/^MN-/)) - (await line("Pending")))).toBeLessThan(10);
  expect(Math.abs((await line("Late")) - (await line(/^Margaret/)))).toBeLessThan(10);
  await lastRow(page).getByRole("checkbox").check();
  await expectVisible(page.getByRole("region", { name: "Selected jobs" }));
  // Columns that the user chose are below.
  await page.goto("/jobs?columns=status&columns=batchNumber");
  await expectVisible(lastRow(page).getByRole("cell").last());
  if (process.env["PICTURES"])
    await page.screenshot({ path: `${process.env["PICTURES"]}/phone-columns.png` });
  await page.goto("/jobs");
  await expectVisible(lastRow(page));
  if (process.env["PICTURES"])
    await page.screenshot({ path: `${process.env["PICTURES"]}/phone.png`, fullPage: true });
  expect(pageErrors).toEqual([]);
});
