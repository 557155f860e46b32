/** The simulator: runs, deliveries, errors, the keyboard, and its states with axe. */
import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { emulateScheme, findPageProblems } from "../../support/browser/axe.ts";
import { createKeyboardUser } from "../../support/browser/page-user.ts";
import { startWorkingConsole } from "../../support/browser/shared-console.ts";
import {
  choose,
  createEndpoint,
  createOwner,
  createTestJob,
  inTestMode,
  openSimulator,
  panel,
} from "../../support/browser/simulator.ts";
import { DESKTOP, PHONE, expectVisible } from "../../support/browser/tabs.ts";
import { startTestReceiver } from "../../support/webhooks/receiver.ts";

const { app } = await startWorkingConsole();

async function problemsOf(page: Page, state: string): Promise<string[]> {
  const problems: string[] = [];
  for (const colorScheme of ["dark", "light"] as const) {
    await emulateScheme(page, colorScheme);
    problems.push(...(await findPageProblems(page)).map((problem) => `${state}, ${colorScheme}: ${problem}`));
  }
  return problems;
}

async function addStatuses(page: Page, codes: readonly string[]): Promise<void> {
  const statuses = page.getByRole("combobox", { name: "Statuses" });
  for (const code of codes) {
    await statuses.fill(code);
    await statuses.press("Enter");
  }
  await statuses.press("Escape");
}

it.each([
  ["desktop", DESKTOP],
  ["phone", PHONE],
])("is accessible in each state: %s", async (_device, viewport) => {
  const owner = await createOwner(app);
  await using receiver = await startTestReceiver();
  const { page, pageErrors } = await openSimulator(app, owner, { viewport });
  const problems = await problemsOf(page, "no jobs");

  await createTestJob(app, owner);
  await page.reload();
  const deliveries = panel(page, "Webhook deliveries");
  await expectVisible(deliveries.getByRole("heading", { name: "No test endpoint yet" }));
  problems.push(...(await problemsOf(page, "no endpoint")));

  await createEndpoint(app, owner, receiver.url);
  await page.reload();
  const run = panel(page, "Run a job");
  await choose(page, "Path", "Own list of statuses");
  await addStatuses(page, ["failed", "in_transit"]);
  problems.push(...(await problemsOf(page, "list of statuses")));
  await run.getByRole("button", { name: "Start run" }).click();
  await expectVisible(run.getByText("Run finished"));
  await expectVisible(deliveries.getByText("Delivered", { exact: true }).first());
  problems.push(...(await problemsOf(page, "finished run")));

  await choose(page, "Path", "Delivered");
  await choose(page, "Time between steps", "1 minute");
  await run.getByRole("button", { name: "Start run" }).click();
  await expectVisible(run.getByText(/^1 of \d steps applied$/));
  problems.push(...(await problemsOf(page, "run")));

  await page.getByRole("button", { name: "Reset test data…" }).click();
  await expectVisible(page.getByRole("dialog").getByText("all test jobs and their history"));
  problems.push(...(await problemsOf(page, "reset")));
  expect([...problems, ...pageErrors]).toEqual([]);
});

describe("the run of a job", () => {
  it("applies an own list of statuses, which may repeat, and marks each step", async () => {
    const owner = await createOwner(app);
    await createTestJob(app, owner);
    const { page } = await openSimulator(app, owner);
    await choose(page, "Path", "Own list of statuses");
    const run = panel(page, "Run a job");
    await run.getByRole("button", { name: "Start run" }).click();
    await expectVisible(run.getByText("Add at least one status."));
    await addStatuses(page, ["failed", "in_transit", "failed"]);
    await run.getByRole("button", { name: "Start run" }).click();
    await expectVisible(run.getByText("Run finished"));
    const steps = run.getByRole("list", { name: "Steps of the run" }).getByRole("listitem");
    expect(await steps.allTextContents()).toEqual(["Delivery failed", "In transit", "Delivery failed"]);
    await expectVisible(panel(page, "History").getByText("Status changed: In transit"));
  });

  it("shows the next step, also after a reload, and why a second run is rejected", async () => {
    const owner = await createOwner(app);
    await createTestJob(app, owner);
    const { page } = await openSimulator(app, owner);
    await choose(page, "Time between steps", "1 minute");
    const run = panel(page, "Run a job");
    await run.getByRole("button", { name: "Start run" }).click();
    await expectVisible(run.getByText("1 of 6 steps applied"));
    await page.reload();
    await expectVisible(run.getByText("1 of 6 steps applied"));
    const next = run.getByRole("listitem").and(page.locator("[aria-current=step]"));
    await expectVisible(next.getByText("Picked up"));

    await run.getByRole("button", { name: "Start run" }).click();
    await expectVisible(run.getByRole("alert").getByText(/^The job has a run with 5 steps left/));
  });
});

describe("webhook deliveries", () => {
  it("show the attempts and the next one of a failing receiver", async () => {
    const owner = await createOwner(app);
    await using receiver = await startTestReceiver({ respond: () => ({ status: 503 }) });
    await createEndpoint(app, owner, receiver.url);
    await createTestJob(app, owner);
    const { page } = await openSimulator(app, owner);
    const deliveries = panel(page, "Webhook deliveries");
    await expectVisible(deliveries.getByText(/HTTP 503 \(attempt \d+\)/).first());
    await expectVisible(deliveries.getByText("Retrying").first());
  });

  it("link to the creation of an endpoint if the organisation has no test endpoint", async () => {
    const owner = await createOwner(app);
    await createTestJob(app, owner);
    const { page } = await openSimulator(app, owner);
    const deliveries = panel(page, "Webhook deliveries");
    await expectVisible(deliveries.getByRole("heading", { name: "No test endpoint yet" }));
    await deliveries.getByRole("link", { name: "Create an endpoint", exact: true }).click();
    await expectVisible(page.getByRole("heading", { level: 1, name: "Webhook endpoints" }));
  });
});

describe("errors", () => {
  it("of the form are at its fields, and of the server above it", async () => {
    const { page } = await openSimulator(app, await createOwner(app));
    const create = panel(page, "Create jobs");
    await create.getByLabel("Number of jobs").fill("101");
    await create.getByRole("button", { name: "Create jobs" }).click();
    await expectVisible(create.getByText("Enter a whole number from 1 to 100."));

    await page.route("**/graphql", async (route) => {
      if (!route.request().postData()?.includes("CreateTestJobs")) return await route.continue();
      return await route.fulfill({ status: 500, body: "" });
    });
    await create.getByLabel("Number of jobs").fill("1");
    await create.getByRole("button", { name: "Create jobs" }).click();
    await expectVisible(create.getByRole("alert").getByText(/^An unexpected error/));
  });

  it("name a job that does not exist", async () => {
    const { page } = await openSimulator(app, await createOwner(app));
    await page.goto("/simulator?job=NOWHERE");
    await expectVisible(page.getByRole("heading", { name: "Job not found" }));
    await expectVisible(page.getByText("NOWHERE"));
  });
});

it("cancels a run, after which another one can start", async () => {
  const owner = await createOwner(app);
  const markingNumber = await createTestJob(app, owner);
  const { page } = await openSimulator(app, owner);
  await choose(page, "Time between steps", "1 minute");
  await page.getByRole("button", { name: "Start run" }).click();
  const run = panel(page, "Run a job");
  await expectVisible(run.getByText("1 of 6 steps applied"));
  await run.getByRole("button", { name: "Cancel run" }).click();
  await expectVisible(page.getByText("Run cancelled. 5 steps not applied."));
  await run.getByText(/steps applied$/).waitFor({ state: "hidden" });
  const { job } = await inTestMode(
    app,
    owner,
    `{ job(markingNumber: "${markingNumber}") { normalizedStatus } }`,
  );
  expect(job.normalizedStatus).toBe("assigned");
  await page.getByRole("button", { name: "Start run" }).click();
  await expectVisible(run.getByText(/^[01] of \d steps applied$/));
});

it("is in the navigation of test mode only, and live mode opens the dashboard", async () => {
  const { page } = await openSimulator(app, await createOwner(app));
  const navigation = page.getByRole("navigation", { name: "Main" });
  await expectVisible(navigation.getByRole("link", { name: "Simulator" }));
  await page.getByRole("radiogroup", { name: "Mode" }).getByText("Live", { exact: true }).click();
  await expectVisible(page.getByRole("heading", { level: 1, name: "Dashboard" }));
  expect(await navigation.getByRole("link", { name: "Simulator" }).count()).toBe(0);
});

it("shows the request that causes a chosen failure, without a key", async () => {
  const { page } = await openSimulator(app, await createOwner(app));
  await choose(page, "Failure", "503: unavailable");
  const command = page.getByRole("group", { name: "curl command" });
  const text = (await command.textContent()) ?? "";
  expect(text).toContain('-H "X-Waymark-Simulate: 503"');
  expect(text).toContain("$WAYMARK_TEST_KEY");
  expect(text).not.toContain("wmk_");
  await expectVisible(page.getByText(/Wait for the seconds in Retry-After/));
});

it("works by the keyboard alone", async () => {
  const { page } = await openSimulator(app, await createOwner(app));
  const user = createKeyboardUser(page);
  await user.fill(page.getByLabel("Recipient"), "Harbour Pharmacy");
  await user.activate(page.getByRole("button", { name: "Create jobs" }));
  await expectVisible(panel(page, "History").getByText("Created: Pending"));
  await user.activate(page.getByRole("button", { name: "Start run" }));
  await expectVisible(panel(page, "Run a job").getByText(/^[1-6] of 6 steps applied$|^Run finished$/));
});
