/** The list of jobs as a table: headings that stay, full width, lines on a phone, the selection and views. */
import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { createTestUser } from "../support/accounts/session-client.ts";
import { createAgent } from "../support/browser/console.fixture.ts";
import { startConsole } from "../support/browser/shared-console.ts";
import { findPageProblems } from "../support/browser/axe.ts";
import { DESKTOP, expectVisible, visit } from "../support/browser/tabs.ts";

const app = await startConsole();

/** Opens a list with `count` late jobs as a dispatcher. Offline, the browser logs errors. */
async function openList(path: string, { count = 2, viewport = DESKTOP } = {}) {
  const contractor = await app.createOrganization("contractor");
  const patch = {
    normalized_status: "pending",
    recipient_name: "Margaret Featherstonehaugh-Wetherby",
    scheduled_date: "2020-11-30",
  };
  const jobs = Array.from({ length: count }, () => ({ contractor, patch }));
  const { agent, numbers, user } = await createAgent(app, { role: "dispatcher", jobs });
  const tab = await visit(app, path, { user, viewport }, /INTERNET_DISCONNECTED/);
  return { ...tab, agent, sorted: numbers.toSorted() };
}

const heading = (page: Page) => page.getByRole("columnheader", { name: "Marking Number" });
const lastRow = (page: Page) => page.getByRole("row").last();
const top = async (page: Page): Promise<number> => Math.round((await heading(page).boundingBox())!.y);

it("keeps the headings in sight, below the bar at the top, with a job next to the list and with many columns", async () => {
  const viewport = { width: 1920, height: 800 };
  const { context, page } = await openList("/jobs?size=50", { viewport, count: 40 });
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

  // The table is wider than the page, so it scrolls inside its frame.
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
});

it("shows each job in two lines on a phone", async () => {
  const { page } = await openList("/jobs", { viewport: { width: 390, height: 844 }, count: 40 });
  await expectVisible(lastRow(page));
  const height = () => page.evaluate(() => document.documentElement.scrollHeight);
  await expect.poll(height).toBeLessThan(2_500);
  await expectVisible(page.getByText("40 jobs · Newest first"));
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
  await page.goto("/jobs");
  await expectVisible(lastRow(page));
});

it("shows words of 200 letters and right-to-left texts at each width, in the list and on the page of a job", async () => {
  const { page, agent } = await openList("/jobs", { count: 1 });
  const word = "Donaudampfschiff".repeat(13).slice(0, 200);
  const words = { recipient_name: word, delivery_address: word, instructions: word };
  const hebrew = { recipient_name: "נועה (2)", delivery_address: "הנמל 12, חיפה!" };
  const patches = [words, { ...hebrew, scheduled_date: "2020-11-30" }];
  const [long = "", rightToLeft = ""] = await app.createJobs(
    agent,
    patches.map((patch) => ({ patch })),
  );
  for (const width of [360, 768, 1280]) {
    await page.setViewportSize({ width, height: 740 });
    await page.goto("/jobs?columns=status&columns=due&columns=recipientName&columns=deliveryAddress");
    await expectVisible(page.getByText("3 jobs in total"));
    const status = page.getByRole("row").filter({ hasText: long }).getByText("Pending");
    const { x, width: statusWidth } = (await status.boundingBox())!;
    expect(x + statusWidth, "the long word pushes nothing off the screen").toBeLessThan(width);
    for (const number of [long, rightToLeft]) {
      await page.goto(`/jobs/${number}`);
      await expectVisible(page.getByRole("heading", { level: 1, name: number }));
      await expectVisible(page.getByText("Open map"));
      expect(await findPageProblems(page)).toEqual([]);
    }
  }
  // The mark ends the Hebrew text, on the left, and does not follow it on the right.
  const address = page.getByText(hebrew.delivery_address, { exact: true }).first();
  const markAt = await address.evaluate((element) => {
    const text = document.createTreeWalker(element, NodeFilter.SHOW_TEXT).nextNode()!;
    const left = (from: number) => {
      const range = new Range();
      range.setStart(text, from);
      range.setEnd(text, from + 1);
      return range.getBoundingClientRect().left;
    };
    return { first: left(0), mark: left(text.textContent!.length - 1) };
  });
  expect(markAt.mark).toBeLessThan(markAt.first);
});

it("takes ranges with Shift, and keeps the selection when a job is opened, but not in another list", async () => {
  // Too narrow for a job next to the list.
  const viewport = { width: 1100, height: 800 };
  const { page, sorted } = await openList("/jobs?sort=marking_number", { count: 5, viewport });
  const box = (at: number) => page.getByRole("checkbox", { name: `Select ${sorted[at]!}` });
  const bar = page.getByRole("region", { name: "Selected jobs" });

  await box(0).click();
  await box(3).click({ modifiers: ["Shift"] });
  await expectVisible(bar.getByText("4 jobs selected"));
  await box(2).click({ modifiers: ["Shift"] });
  await expectVisible(bar.getByText("2 jobs selected"));
  expect([await box(1).isChecked(), await box(2).isChecked()]).toEqual([true, false]);

  await page.getByRole("link", { name: sorted[4]! }).click();
  await expectVisible(page.getByRole("heading", { level: 1, name: sorted[4]! }));
  await page.goBack();
  await expectVisible(bar.getByText("2 jobs selected"));

  await page.getByRole("link", { name: "Dashboard", exact: true }).click();
  await expectVisible(page.getByRole("heading", { level: 1, name: "Dashboard" }));
  await page.getByRole("link", { name: "Jobs", exact: true }).click();
  await expectVisible(page.getByRole("link", { name: sorted[0]! }));
  expect(await bar.count()).toBe(0);
});

it("sorts by the day on which jobs are due, in both directions", async () => {
  const { page, agent } = await openList("/jobs", { count: 1 });
  const numbers = await app.createJobs(agent, [
    { patch: { scheduled_date: "2030-01-01", scheduled_delivery_date: "2031-01-01" } },
    { patch: { scheduled_date: "2030-06-01" } },
  ]);
  const [confirmed = "", planned = ""] = numbers;
  const rows = () => page.getByRole("row").getByRole("link").allInnerTexts();
  await page.reload();
  await expectVisible(page.getByText("3 jobs in total"));
  await page.getByRole("button", { name: "Due", exact: true }).click();
  await expect.poll(async () => (await rows()).slice(1)).toEqual([planned, confirmed]);
  await expectVisible(page.getByText("3 jobs · Earliest due first"));
  await page.getByRole("button", { name: "Due", exact: true }).click();
  await expect.poll(async () => (await rows()).slice(0, 2)).toEqual([confirmed, planned]);
});

it("resizes a column by keyboard and pointer, keeps its width, and resets it", async () => {
  const { page } = await openList("/jobs");
  const column = (name: string) => page.getByRole("columnheader", { name: new RegExp(`^${name}`) });
  const width = async (name: string) => Math.round((await column(name).boundingBox())!.width);
  const handle = page.getByRole("separator", { name: "Width of Recipient" });
  await expectVisible(handle);
  const [before, other] = [await width("Recipient"), await width("Due")];
  await handle.focus();
  await page.keyboard.press("ArrowLeft");
  await page.keyboard.press("ArrowLeft");
  await expect.poll(() => width("Recipient")).toBe(before - 32);
  expect(await width("Due")).toBe(other);
  await expect.poll(() => handle.getAttribute("aria-valuenow")).toBe(String(before - 32));

  const { x, y } = (await handle.boundingBox())!;
  await page.mouse.move(x + 4, y + 8);
  await page.mouse.down();
  await page.mouse.move(x + 54, y + 8, { steps: 5 });
  await page.mouse.up();
  await expect.poll(() => width("Recipient")).toBe(before + 18);
  await page.mouse.move(x + 100, y + 8);
  await page.reload();
  await expect.poll(() => width("Recipient")).toBe(before + 18);
  expect(await findPageProblems(page)).toEqual([]);

  await page.getByRole("button", { name: "Columns" }).click();
  await page.getByRole("button", { name: "Reset widths" }).click();
  await expect.poll(() => width("Recipient")).toBe(before);
});

const tabs = (page: Page) => page.getByRole("navigation", { name: "Views" });

it("shares a view as a tab, which only its user and owners change", async () => {
  const { page, agent } = await openList("/jobs?status=pending");
  const open = async (role: "owner" | "dispatcher") => {
    const user = await createTestUser(app, { organizationId: agent.id, role });
    return (await visit(app, "/jobs", { user })).page;
  };
  await page.getByRole("button", { name: "Save as…" }).click();
  await page.getByLabel("Name").fill("Morning round");
  await page.getByLabel(`Share with ${agent.name}`).check();
  await page.getByRole("button", { name: "Save view" }).click();
  const tab = (on: Page) => tabs(on).getByRole("link", { name: /^Morning round/ });
  await expect.poll(() => tab(page).getAttribute("aria-current")).toBe("page");
  await expectVisible(tab(page).getByRole("img", { name: "shared" }));
  await expect.poll(() => new URL(page.url()).search).toMatch(/^\?status=pending&view=viw_\w+$/);
  // Shared links from before have no view in the URL.
  await page.goto("/jobs?status=pending");
  await expect.poll(() => tab(page).getAttribute("aria-current")).toBe("page");

  await expect
    .poll(() => tabs(page).getByRole("link", { name: "All jobs" }).getAttribute("aria-current"))
    .not.toBe("page");

  const colleague = await open("dispatcher");
  await tab(colleague).click();
  await expectVisible(colleague.getByRole("button", { name: "Remove Status: Pending" }));
  await colleague.getByRole("button", { name: "Late" }).click();
  await expectVisible(tab(colleague).getByText("changed"));
  await expectVisible(colleague.getByRole("button", { name: "Save as…" }));
  expect(await colleague.getByRole("button", { name: "Save changes" }).count()).toBe(0);
  expect(await colleague.getByRole("button", { name: /^Actions for view/ }).count()).toBe(0);

  await tab(page).click();
  await page.getByRole("button", { name: "Late" }).click();
  await page.getByRole("button", { name: "Save changes" }).click();
  await tab(page).getByText("changed").waitFor({ state: "hidden" });
  await colleague.goto("/jobs");
  await tab(colleague).click();
  await expectVisible(colleague.getByRole("button", { name: "Late", pressed: true }));

  const owner = await open("owner");
  await tab(owner).click();
  await owner.getByRole("button", { name: "Actions for view Morning round" }).click();
  await owner.getByRole("menuitem", { name: "Stop sharing" }).click();
  await tab(owner).waitFor({ state: "detached" });
  await colleague.reload();
  await expectVisible(tabs(colleague));
  await tab(colleague).waitFor({ state: "detached" });
  await page.reload();
  await expectVisible(tab(page));
  expect(await findPageProblems(page)).toEqual([]);
});
