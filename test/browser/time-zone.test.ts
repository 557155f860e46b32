/** The time zone of an organisation: an owner sets it, and the console shows its days. */
import { expect, it } from "vitest";
import { addDays, today } from "../../src/console/pages/jobs/job.due.ts";
import { createAgent } from "../support/browser/console.fixture.ts";
import { startConsole } from "../support/browser/shared-console.ts";
import { expectVisible, visit } from "../support/browser/tabs.ts";

const AUCKLAND = "Pacific/Auckland";

it("an owner sets Auckland, and the console shows Auckland's days", async () => {
  const app = await startConsole();
  const day = today(AUCKLAND);
  const jobs = [
    { markingNumber: "DUE-TODAY", patch: { scheduled_date: day } },
    { markingNumber: "DUE-BEFORE", patch: { scheduled_date: addDays(day, -1) } },
  ];
  const { user } = await createAgent(app, { jobs });
  const { page } = await visit(app, "/members", { user });
  const field = page.getByRole("combobox", { name: "Time zone" });
  await field.fill("auckl");
  await page.getByRole("option", { name: AUCKLAND }).click();
  await page.locator("form", { has: field }).getByRole("button", { name: "Save" }).click();
  await expectVisible(page.getByText("Time zone saved."));

  await page.goto("/");
  await expectVisible(page.getByText(`Days are in ${AUCKLAND}`));
  const panel = (title: string) => page.getByRole("region", { name: title });
  await expectVisible(panel("Due today").getByRole("link", { name: "DUE-TODAY" }));
  await expectVisible(panel("Late").getByRole("link", { name: "DUE-BEFORE" }));
  expect(await panel("Late").getByRole("link", { name: "DUE-TODAY" }).count()).toBe(0);

  await page.goto("/jobs/DUE-TODAY");
  // The tooltip names the time zone: GMT+13 in summer, GMT+12 in winter.
  await expectVisible(page.getByTitle(/GMT\+1[23]$/).first());
  await page.goto("/jobs?late=true");
  await expectVisible(page.getByRole("link", { name: "DUE-BEFORE" }));
  expect(await page.getByRole("link", { name: "DUE-TODAY" }).count()).toBe(0);
});
