/** The simulator of test mode: creates jobs, runs them, and shows their history and deliveries. */
import { describe, expect, it } from "vitest";
import { findPageProblems } from "../support/browser/axe.ts";
import { startWorkingConsole } from "../support/browser/shared-console.ts";
import {
  choose,
  createEndpoint,
  createOwner,
  createTestJob,
  inTestMode,
  openSimulator,
  panel,
} from "../support/browser/simulator.ts";
import { expectVisible } from "../support/browser/tabs.ts";
import { startTestReceiver } from "../support/webhooks/receiver.ts";

const { app } = await startWorkingConsole();

it("creates jobs, runs one, and shows its history and deliveries", { tags: "long" }, async () => {
  const owner = await createOwner(app);
  await using receiver = await startTestReceiver();
  await createEndpoint(app, owner, receiver.url);
  const { page, pageErrors } = await openSimulator(app, owner);
  const create = panel(page, "Create jobs");
  await create.getByLabel("Number of jobs").fill("2");
  await create.getByLabel("Recipient").fill("Harbour Street Bakery");
  await create.getByRole("button", { name: "Create jobs" }).click();
  const links = panel(page, "Test jobs").getByRole("link", { name: /^TEST-/ });
  await expect.poll(() => links.count()).toBe(2);

  const run = panel(page, "Run a job");
  await choose(page, "Path", "Cancelled");
  await run.getByRole("button", { name: "Start run" }).click();
  await expectVisible(run.getByText("Run finished"));
  expect(
    await run.getByRole("list", { name: "Steps of the run" }).getByRole("listitem").allTextContents(),
  ).toEqual(["Scheduled", "Cancelled"]);
  await expectVisible(panel(page, "History").getByText("Status changed: Cancelled"));
  const deliveries = panel(page, "Webhook deliveries");
  await expect.poll(() => deliveries.getByRole("link", { name: "job.status_changed" }).count()).toBe(2);
  await expect.poll(() => deliveries.getByText("Delivered", { exact: true }).count()).toBe(4);
  expect(await findPageProblems(page)).toEqual([]);

  const [markingNumber = ""] = await panel(page, "Watch")
    .getByText(/^TEST-/)
    .allTextContents();
  const received = receiver.received.map(({ body }) => body);
  expect(received.filter((each) => each.includes(markingNumber))).toHaveLength(4);

  await deliveries.getByRole("link", { name: "job.status_changed" }).first().click();
  await expectVisible(page.getByRole("heading", { level: 1, name: "job.status_changed" }));
  await page.goBack();
  await expectVisible(run.getByText("Run finished"));
  await panel(page, "Watch").getByRole("link", { name: "Open the job" }).click();
  await expectVisible(page.getByRole("heading", { level: 1, name: markingNumber }));
  expect(pageErrors).toEqual([]);
});

describe("Reset test data", () => {
  it("says what is deleted, and deletes it", async () => {
    const owner = await createOwner(app);
    const markingNumber = await createTestJob(app, owner);
    const { page } = await openSimulator(app, owner);
    await expectVisible(panel(page, "Test jobs").getByText(markingNumber));
    await page.getByRole("button", { name: "Reset test data…" }).click();
    const dialog = page.getByRole("dialog");
    await expectVisible(dialog.getByText("all test jobs and their history"));
    await dialog.getByRole("button", { name: "Delete test data" }).click();
    await expectVisible(page.getByText("No test jobs yet. Create one above."));
    await expectVisible(page.getByText("1 job and 0 deliveries deleted."));
    expect((await inTestMode(app, owner, "{ jobs { totalCount } }")).jobs.totalCount).toBe(0);
  });

  it("shows why it is rejected during a run, and deletes nothing", async () => {
    const owner = await createOwner(app);
    const markingNumber = await createTestJob(app, owner);
    await inTestMode(
      app,
      owner,
      `mutation { runTestJob(input: { markingNumber: "${markingNumber}", path: DELIVERED, intervalMs: 60000 }) { run { endsAt } } }`,
    );
    const { page } = await openSimulator(app, owner);
    await page.getByRole("button", { name: "Reset test data…" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("button", { name: "Delete test data" }).click();
    await expectVisible(dialog.getByRole("alert").getByText(/^A run is in progress/));
    await dialog.getByRole("button", { name: "Cancel" }).click();
    await expectVisible(panel(page, "Test jobs").getByText(markingNumber));
  });
});
