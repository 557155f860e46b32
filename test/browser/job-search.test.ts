/** A dispatcher finds jobs by the list that they paste into the search of the jobs. */
import type { BrowserContext, Page } from "playwright-core";
import { beforeEach, expect, it } from "vitest";
import { findPageProblems } from "../support/browser/axe.ts";
import { createAgent } from "../support/browser/console.fixture.ts";
import { startConsole } from "../support/browser/shared-console.ts";
import { PHONE, expectVisible, visit } from "../support/browser/tabs.ts";

const app = await startConsole();
const jobs = ["Priya", "Søren", "Zoë", "Noor"].map((name) => ({ patch: { recipient_name: name } }));
const { user, numbers } = await createAgent(app, { jobs });
let page: Page;
let context: BrowserContext;

beforeEach(async () => {
  ({ page, context } = await visit(app, "/jobs", { user }));
  await expectVisible(page.getByText("4 jobs in total"));
});

const searchField = () => page.getByRole("searchbox", { name: "Search jobs" });

it("finds a pasted column of Marking Numbers, and names those that it does not find", async () => {
  const unknown = `NO-${numbers[0]}`;
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  const column = [numbers[1], unknown, numbers[2], numbers[3]].join("\r\n");
  await page.evaluate((text) => navigator.clipboard.writeText(text), column);
  await searchField().press("ControlOrMeta+v");
  await expectVisible(page.getByText("3 of 4 Marking Numbers found, 1 not"));
  await expectVisible(page.getByText(`Not found: ${unknown}`, { exact: true }));
  await expectVisible(page.getByText("3 jobs in total"));
  expect(await page.getByText("Priya").count()).toBe(0);
  expect(await findPageProblems(page)).toEqual([]);

  await page.reload();
  await expectVisible(page.getByText("3 of 4 Marking Numbers found, 1 not"));
  await page.getByRole("button", { name: "Copy those not found" }).click();
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(unknown);
  await searchField().fill("soren");
  await expectVisible(page.getByText("1 job in total"));
  expect(await page.getByText("Marking Numbers found").count()).toBe(0);
});

it("shows a pasted list of 300 numbers on a phone", async () => {
  await page.setViewportSize(PHONE);
  const list = Array.from({ length: 300 }, (_, index) => `NO-${numbers[0]}-${index}`);
  await searchField().fill(list.join(", "));
  await expectVisible(page.getByText("0 of 300 Marking Numbers found, 300 not"));
  await expectVisible(page.getByRole("button", { name: "Show all" }));
  expect(await findPageProblems(page)).toEqual([]);
});
