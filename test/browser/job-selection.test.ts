/** The selection in the list of jobs: ranges, and what keeps it. */
import { expect, it } from "vitest";
import { createTestUser } from "../support/accounts/session-client.ts";
import { startConsole } from "../support/browser/shared-console.ts";
import { expectVisible, openTab } from "../support/browser/tabs.ts";

it("takes ranges with Shift, and stays when a job is opened, but not in another list", async () => {
  const app = await startConsole();
  const agent = await app.createOrganization("agent");
  const user = await createTestUser(app, { organizationId: agent.id, role: "dispatcher" });
  const numbers = await app.createJobs(agent, [{}, {}, {}, {}, {}]);
  // Too narrow for a job next to the list.
  const { page, pageErrors } = await openTab(app, { user, viewport: { width: 1100, height: 800 } });
  const sorted = numbers.toSorted();
  const box = (at: number) => page.getByRole("checkbox", { name: `Select ${sorted[at]!}` });
  const bar = page.getByRole("region", { name: "Selected jobs" });

  await page.goto("/jobs?sort=marking_number");
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
  expect(pageErrors).toEqual([]);
});
