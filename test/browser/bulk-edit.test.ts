/** Editing all jobs that match a filter: progress, pause, failures, report and undo. */
import { describe, expect, it } from "vitest";
import type { Page, Route } from "playwright-core";
import { sql } from "../../src/core/postgres/sql.ts";
import type { TestOrganization } from "../support/app/app.fixture.ts";
import { createAgent } from "../support/browser/console.fixture.ts";
import { startConsole } from "../support/browser/shared-console.ts";
import { expectVisible, openTab } from "../support/browser/tabs.ts";
import { queryData } from "../support/graphql/client.ts";

const COUNT = 250;

const app = await startConsole();

/** 250 pending jobs, and one that is on hold and matches no filter of these tests. */
async function openPendingJobs() {
  const jobs = Array.from({ length: COUNT }, () => ({
    patch: { normalized_status: "pending", group_code: "old" },
  }));
  const { agent, numbers, user } = await createAgent(app, { role: "dispatcher", jobs });
  await app.createJobs(agent, [{ patch: { normalized_status: "on_hold", group_code: "old" } }]);
  const tab = await openTab(app, { user });
  await tab.page.goto("/jobs?status=pending");
  // So that there is a page to leave to.
  await tab.page.getByRole("link", { name: "Dashboard", exact: true }).click();
  await expectVisible(tab.page.getByRole("heading", { level: 1, name: "Dashboard" }));
  await tab.page.goBack();
  return { agent, user, numbers, ...tab };
}

/** Selects all that match, and previews a new group code. */
async function previewGroup(page: Page): Promise<void> {
  await page.getByRole("checkbox", { name: "Select all on this page" }).check();
  await page.getByRole("button", { name: `Select all ${COUNT} that match` }).click();
  await expectVisible(
    page.getByRole("region", { name: "Selected jobs" }).getByText(`${COUNT} jobs selected`),
  );
  await page.getByRole("button", { name: "Edit", exact: true }).click();
  await page.getByRole("combobox", { name: "Field to change" }).fill("Group code");
  await page.getByRole("option", { name: "Group code" }).click();
  await page.getByLabel("Group code", { exact: true }).fill("new");
  await page.getByRole("button", { name: "Preview" }).click();
  await expectVisible(page.getByText(`${COUNT} jobs will change`));
}

/** Handles the nth request that changes jobs. The returned function counts them. */
async function onChange(
  page: Page,
  nth: number,
  handle: (route: Route) => Promise<void>,
): Promise<() => number> {
  let times = 0;
  await page.route("**/graphql", async (route) => {
    const { operationName, variables } = route.request().postDataJSON() as {
      operationName?: string;
      variables?: { dryRun?: boolean };
    };
    const isChange = operationName === "UpdateJobs" && variables?.dryRun === false;
    if (isChange && (times += 1) === nth) return await handle(route);
    return await route.fallback();
  });
  return () => times;
}

async function countByGroup({ key }: TestOrganization): Promise<Record<string, number>> {
  const query = "{ jobStats(groupBy: [GROUP_CODE]) { groups { keys { value } count } } }";
  const { jobStats } = (await queryData(app, query, { key })) as {
    jobStats: { groups: { keys: [{ value: string }]; count: number }[] };
  };
  return Object.fromEntries(jobStats.groups.map(({ keys: [{ value }], count }) => [value, count]));
}

describe("250 jobs that match a filter", () => {
  it("are changed in three requests with a pause, and undone except where someone changed them since", async () => {
    const { agent, numbers, page, pageErrors } = await openPendingJobs();
    const held = Promise.withResolvers<void>();
    const arrived = Promise.withResolvers<void>();
    const count = await onChange(page, 2, async (route) => {
      arrived.resolve();
      await held.promise;
      await route.continue();
    });
    await previewGroup(page);
    await page.getByRole("button", { name: `Change ${COUNT} jobs` }).click();
    await arrived.promise;
    await expectVisible(page.getByText(`Changing: 100 of ${COUNT} jobs`));
    await page.getByRole("button", { name: "Pause", exact: true }).click();
    held.resolve();
    await expectVisible(page.getByText(`Paused: 200 of ${COUNT} jobs`));
    expect(count()).toBe(2);

    // Leaving asks first.
    await page.goForward();
    await page.getByRole("button", { name: "Keep running" }).click();
    await page.getByRole("button", { name: "Continue" }).click();
    await expectVisible(page.getByText(`${COUNT} jobs changed`, { exact: true }));
    expect(count()).toBe(3);
    expect(await countByGroup(agent)).toEqual({ new: COUNT, old: 1 });

    const [changedSince = ""] = numbers;
    const path = `/v1/jobs/by-marking/${changedSince}`;
    await app.call(path, {
      method: "PATCH",
      key: agent.key,
      body: JSON.stringify({ group_code: "by others" }),
    });
    await page.getByRole("button", { name: "Undo" }).click();
    await expectVisible(page.getByText(`${COUNT - 1} jobs restored`, { exact: true }));
    const refused = page.getByRole("alert").filter({ hasText: "1 job couldn’t be restored" });
    await expectVisible(refused.getByText("Someone else changed this job."));
    await expectVisible(refused.getByRole("link", { name: changedSince }));
    expect(await countByGroup(agent)).toEqual({ "by others": 1, old: COUNT });
    expect(pageErrors).toEqual([]);
  });

  it("wait while the server is busy, the session has ended or the connection is lost", async () => {
    const { agent, user, page } = await openPendingJobs();
    await onChange(page, 1, async (route) => {
      const headers = { "Retry-After": "1", "Content-Type": "application/graphql-response+json" };
      const errors = [{ message: "Too many requests.", extensions: { code: "RATE_LIMITED" } }];
      await route.fulfill({ status: 429, headers, body: JSON.stringify({ errors }) });
    });
    await onChange(page, 4, async (route) => {
      // The server applies the change, but the response is lost.
      await route.fetch();
      await route.abort();
    });
    await previewGroup(page);
    await app.database.query(sql`delete from user_session where user_id = ${user.id}::uuid`);
    await page.getByRole("button", { name: `Change ${COUNT} jobs` }).click();
    const signIn = page.getByRole("dialog", { name: "Your session has ended" });
    await signIn.getByLabel("Your password", { exact: true }).fill(user.password);
    await signIn.getByRole("button", { name: "Sign in" }).click();
    await expectVisible(page.getByText("No connection"));
    await expectVisible(page.getByText(`Paused: 100 of ${COUNT} jobs`));
    await page.getByRole("button", { name: "Continue" }).click();
    await expectVisible(page.getByText(`${COUNT} jobs changed`, { exact: true }));
    await page.getByRole("button", { name: "Done" }).click();
    expect(await countByGroup(agent)).toEqual({ new: COUNT, old: 1 });
    await page.getByRole("button", { name: "Report and undo" }).click();
    await expectVisible(page.getByRole("button", { name: "Undo" }));
  });
});
