/** Stopping an export of the jobs of the list. */
import { expect, it } from "vitest";
import { findPageProblems } from "../support/browser/axe.ts";
import { createAgent } from "../support/browser/console.fixture.ts";
import { startConsole } from "../support/browser/shared-console.ts";
import { expectVisible, visit } from "../support/browser/tabs.ts";

const COUNT = 120;

it("shows the progress, asks before Escape stops it, and saves nothing after Cancel", async () => {
  const app = await startConsole();
  const { user } = await createAgent(app, {
    role: "dispatcher",
    jobs: COUNT,
  });
  const { page } = await visit(app, "/jobs", { user });
  await expectVisible(page.getByText(`${COUNT} jobs in total`));
  const chooseCsv = async (): Promise<void> => {
    await page.getByRole("button", { name: "Export", exact: true }).click();
    await page.getByRole("menuitem", { name: /^CSV/ }).click();
  };
  const downloads: unknown[] = [];
  page.on("download", (download) => downloads.push(download));
  // The second page never arrives.
  let requests = 0;
  await page.route("**/graphql", async (route) => {
    if (!(route.request().postData() ?? "").includes("JobExport")) return await route.continue();
    requests += 1;
    if (requests === 1) await route.continue();
  });
  await chooseCsv();
  const dialog = page.getByRole("dialog", { name: "Exporting jobs" });
  await expectVisible(dialog.getByText(`100 of ${COUNT} jobs`));
  expect(await findPageProblems(page)).toEqual([]);
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Continue" }).click();
  await expectVisible(dialog);
  await dialog.getByRole("button", { name: "Cancel" }).click();
  await dialog.waitFor({ state: "hidden" });
  await chooseCsv();
  await dialog.waitFor();
  expect(downloads).toEqual([]);
});
