/** A dispatcher's day: the numbers of today and the lists that they link to, and the filters by day and contractor. */
import type { Page } from "playwright-core";
import { beforeEach, expect, it } from "vitest";
import { addDays, today } from "../../src/console/pages/jobs/job.due.ts";
import { findPageProblems } from "../support/browser/axe.ts";
import { createAgent } from "../support/browser/console.fixture.ts";
import { startConsole } from "../support/browser/shared-console.ts";
import { PHONE, expectVisible, openTab } from "../support/browser/tabs.ts";
import type { TestJob, TestOrganization } from "../support/app/app.fixture.ts";

const day = today();
const job = (normalized_status: string, due: number, others: TestJob = {}): TestJob => ({
  ...others,
  patch: { normalized_status, scheduled_date: addDays(day, due) },
});

const app = await startConsole();
let agent: TestOrganization;
let contractor: TestOrganization;
let page: Page;

beforeEach(async () => {
  const created = await createAgent(app);
  agent = created.agent;
  contractor = await app.createOrganization("contractor");
  await app.createJobs(agent, [
    job("pending", 0, { contractor }),
    job("in_transit", 0, { contractor }),
    job("completed", 0, { contractor }),
    job("failed", 0),
    job("on_hold", 0),
    job("cancelled", 0),
    ...[-1, -2, -3].map((due) => job("pending", due)),
    job("arrived", -1, { contractor }),
    job("completed", -1),
    job("pending", 1, { markingNumber: `TOMORROW-${agent.id}`, providerStatus: "DEX03" }),
  ]);
  ({ page } = await openTab(app, { user: created.user }));
});

const numbers = () => page.getByRole("list", { name: "Jobs of today" }).getByRole("link");
const rows = () => page.getByRole("table", { name: "Jobs of today by contractor" }).getByRole("row");

it("each number of the board is that of the list that it links to, and late jobs are due longest first", async () => {
  await page.goto("/");
  await expect
    .poll(() => numbers().allInnerTexts())
    .toEqual(["Due\n6", "To do\n2", "Done\n1", "Failed, on hold\n2", "Late\n4"]);
  await expectVisible(rows().nth(2));
  expect(await findPageProblems(page)).toEqual([]);
  const cells = await rows().evaluateAll((list) =>
    list.map((row) => [...row.children].map((cell) => /^\d+|.+/.exec(cell.textContent ?? "")?.[0])),
  );
  expect(cells.slice(1)).toEqual([
    ["No contractor", "3", "0", "0", "2", "3"],
    [contractor.name, "3", "2", "1", "0", "1"],
  ]);
  const late = page.getByRole("region", { name: "Late", exact: true }).getByText(/ days? late$/);
  expect(await late.allInnerTexts()).toEqual(["3 days late", "2 days late", "1 day late", "1 day late"]);
  const links = await page
    .getByRole("region", { name: "Today", exact: true })
    .getByRole("link")
    .evaluateAll((list) =>
      list.map((link) => [link.getAttribute("href") ?? "", /\d+/.exec(link.textContent ?? "")?.[0] ?? ""]),
    );
  expect(links).toHaveLength(5 + 3 + 4);
  for (const [href = "", count] of links) {
    await page.goto(new URL(href, `${app.url}/`).href);
    await expectVisible(page.getByText(new RegExp(`^${count} jobs? in total`)));
  }
});

it("the board follows changes, and fits on a phone", async () => {
  await page.setViewportSize(PHONE);
  await page.goto("/");
  await expectVisible(page.getByRole("status").getByText("Live", { exact: true }));
  await app.createJobs(agent, [job("completed", 0, { contractor })]);
  await expect.poll(() => numbers().allInnerTexts()).toContain("Done\n2");
  await expectVisible(rows().filter({ hasText: contractor.name }).getByRole("link", { name: "2 Done" }));
  expect(await findPageProblems(page)).toEqual([]);
});

it("finds jobs by day, without a contractor and by the carrier's status, and saves the view for any day", async () => {
  const total = (count: string) => expectVisible(page.getByText(`${count} in total`));
  const due = page.getByRole("group", { name: "Due", exact: true });
  await page.goto("/jobs");
  await total("12 jobs");
  for (const [name, count, query] of [
    ["Yesterday", "3 jobs", "due=yesterday"],
    ["Today", "6 jobs", "due=today"],
    ["Late", "4 jobs", "late=true"],
    ["Tomorrow", "1 job", "due=tomorrow"],
  ] as const) {
    await due.getByRole("button", { name }).click();
    await total(count);
    await expectVisible(due.getByRole("button", { name, pressed: true }));
    expect(new URL(page.url()).search).toBe(`?${query}`);
  }
  await page.getByRole("button", { name: "Filters" }).click();
  const filters = page.getByRole("region", { name: "Filters" });
  await filters.getByLabel("Provider status").fill("DEX03");
  await filters.getByRole("combobox", { name: "Contractor" }).click();
  await page.getByRole("option", { name: "No contractor" }).click();
  await page.keyboard.press("Escape");
  const query = "?due=tomorrow&contractor=none&provider_status=DEX03";
  const current = () => new URL(page.url()).searchParams.toString().split("&").toSorted().join("&");
  await expect.poll(current).toBe(query.slice(1).split("&").toSorted().join("&"));
  await total("1 job");
  expect(await findPageProblems(page)).toEqual([]);
  await page.getByRole("button", { name: "Save as…" }).click();
  await page.getByLabel("Name").fill("Unassigned tomorrow");
  await page.getByRole("dialog").getByRole("button", { name: "Save view" }).click();
  await expectVisible(page.getByText("View “Unassigned tomorrow” saved."));
  await page.goto("/jobs");
  await page.getByRole("link", { name: "Unassigned tomorrow" }).click();
  await expect
    .poll(() => current().replace(/&view=viw_\w+/, ""))
    .toBe(query.slice(1).split("&").toSorted().join("&"));
});

it("the dashboard does not call itself live while it can't be read", async () => {
  let reads = 0;
  await page.route("**/graphql", async (route) => {
    const { operationName } = route.request().postDataJSON() as { operationName?: string };
    if (operationName === "Dashboard") reads += 1;
    await (operationName === "Dashboard" ? route.fulfill({ status: 500 }) : route.continue());
  });
  await page.goto("/");
  await expectVisible(page.getByText("Something went wrong"));
  const state = page.getByRole("status");
  // It reads again when its subscription is active.
  await expect.poll(() => reads).toBeGreaterThan(1);
  await expectVisible(state.getByText("Not up to date"));
  expect(await state.getByText("Live", { exact: true }).count()).toBe(0);
  await page.unroute("**/graphql");
  await page.getByRole("button", { name: "Try again" }).click();
  await expectVisible(state.getByText("Live", { exact: true }));
});
