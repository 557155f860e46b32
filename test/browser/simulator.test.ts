/** The simulator of test mode: creates jobs, runs them, and shows their history and deliveries. */
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { createSignedInUser, type SignedInTestUser } from "../support/accounts/signed-in-user.ts";
import { startTestApp, type TestApp } from "../support/app/app.fixture.ts";
import { findAccessibilityViolations } from "../support/browser/axe.ts";
import {
  BROWSER_START_TIMEOUT_MS,
  BROWSER_TIMEOUT_MS,
  DESKTOP,
  expectVisible,
  openTab,
  PHONE,
  startBrowser,
  type TabOptions,
} from "../support/browser/tabs.ts";
import { createKeyboardUser } from "../support/browser/page-user.ts";
import { createTestMongo } from "../support/database/test-mongo.ts";
import { queryData } from "../support/graphql/client.ts";
import { startTestReceiver } from "../support/webhooks/receiver.ts";

vi.setConfig({ testTimeout: BROWSER_TIMEOUT_MS, hookTimeout: BROWSER_START_TIMEOUT_MS });

const opened = new AsyncDisposableStack();
let browser: Browser;
let app: TestApp;

beforeAll(async () => {
  browser = opened.adopt(await startBrowser(), (instance) => instance.close());
  const mongo = opened.use(createTestMongo());
  app = opened.use(await startTestApp({ MONGODB_URL: mongo.url, WEBHOOK_ALLOW_PRIVATE: "on" }));
});
afterAll(() => opened.disposeAsync());

/** Creates an owner of a new agent with test data. */
async function createOwner(): Promise<SignedInTestUser> {
  const agent = await app.createOrganization("agent");
  const owner = await createSignedInUser(app, agent.id);
  await owner.client.post("/auth/test-mode");
  return owner;
}

function inTestMode(owner: SignedInTestUser, query: string, variables = {}) {
  return queryData(app, query, { headers: { ...owner.headers, "x-waymark-mode": "test" }, variables });
}

async function createEndpoint(owner: SignedInTestUser, url: string): Promise<string> {
  const { createWebhookEndpoint } = await inTestMode(
    owner,
    "mutation ($url: String!) { createWebhookEndpoint(input: { url: $url }) { secret } }",
    { url },
  );
  return createWebhookEndpoint.secret as string;
}

async function createTestJob(owner: SignedInTestUser): Promise<string> {
  const { createTestJobs } = await inTestMode(
    owner,
    "mutation { createTestJobs(input: {}) { jobs { markingNumber } } }",
  );
  return createTestJobs.jobs[0].markingNumber as string;
}

async function openSimulator(owner: SignedInTestUser, options: TabOptions = {}) {
  const tab = await openTab(browser, app, { user: owner, ...options });
  onTestFinished(() => tab.context.close());
  await tab.page.goto("/simulator");
  await tab.page.getByRole("button", { name: "Switch to test mode" }).click();
  await expectVisible(tab.page.getByRole("heading", { level: 1, name: "Simulator" }));
  return tab;
}

const panel = (page: Page, name: string) => page.getByRole("region", { name, exact: true });

async function choose(page: Page, label: string, option: string): Promise<void> {
  await page.getByRole("combobox", { name: label, exact: true }).click();
  await page.getByRole("option", { name: option, exact: true }).click();
}

/** Returns findings of axe in both schemes, and whether the page scrolls horizontally. */
async function problemsOf(page: Page): Promise<string[]> {
  const problems: string[] = [];
  for (const colorScheme of ["dark", "light"] as const) {
    await page.emulateMedia({ colorScheme });
    await page.locator(`html[data-mantine-color-scheme=${colorScheme}]`).waitFor();
    const running = "document.querySelectorAll('[aria-busy=true]').length + document.getAnimations().length";
    await expect.poll(() => page.evaluate<number>(running)).toBe(0);
    // Until the styles of the scheme apply.
    await page.evaluate(
      "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done())))",
    );
    problems.push(...(await findAccessibilityViolations(page)));
  }
  const overflow = await page.evaluate<number>("document.documentElement.scrollWidth - window.innerWidth");
  return overflow > 0 ? [...problems, "scrolls horizontally"] : problems;
}

it.each([
  ["desktop", DESKTOP],
  ["phone", PHONE],
])("creates jobs, runs one, and shows its history and deliveries: %s", async (_device, viewport) => {
  const owner = await createOwner();
  await using receiver = await startTestReceiver();
  await createEndpoint(owner, receiver.url);
  const { page, pageErrors } = await openSimulator(owner, { viewport });
  expect(await problemsOf(page)).toEqual([]);

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
  expect(await problemsOf(page)).toEqual([]);

  const [markingNumber = ""] = await panel(page, "Watch")
    .getByText(/^TEST-/)
    .allTextContents();
  const received = receiver.received.map(({ body }) => body);
  expect(received.filter((body) => body.includes(markingNumber))).toHaveLength(4);

  await deliveries.getByRole("link", { name: "job.status_changed" }).first().click();
  await expectVisible(page.getByRole("heading", { level: 1, name: "job.status_changed" }));
  await page.goBack();
  await expectVisible(run.getByText("Run finished"));
  await panel(page, "Watch").getByRole("link", { name: "Open the job" }).click();
  await expectVisible(page.getByRole("heading", { level: 1, name: markingNumber }));
  expect(pageErrors).toEqual([]);
});

describe("the run of a job", () => {
  it("applies an own list of statuses, which may repeat, and marks each step", async () => {
    const owner = await createOwner();
    await createTestJob(owner);
    const { page } = await openSimulator(owner);
    await choose(page, "Path", "Own list of statuses");
    const run = panel(page, "Run a job");
    const statuses = run.getByRole("combobox", { name: "Statuses" });
    await run.getByRole("button", { name: "Start run" }).click();
    await expectVisible(run.getByText("Add at least one status."));
    for (const code of ["failed", "in_transit", "failed"]) {
      await statuses.fill(code);
      await statuses.press("Enter");
    }
    await statuses.press("Escape");
    expect(await findAccessibilityViolations(page)).toEqual([]);
    await run.getByRole("button", { name: "Start run" }).click();
    await expectVisible(run.getByText("Run finished"));
    const steps = run.getByRole("list", { name: "Steps of the run" }).getByRole("listitem");
    expect(await steps.allTextContents()).toEqual(["Delivery failed", "In transit", "Delivery failed"]);
    await expectVisible(panel(page, "History").getByText("Status changed: In transit"));
  });

  it("shows the next step, also after a reload, and why a second run is rejected", async () => {
    const owner = await createOwner();
    await createTestJob(owner);
    const { page } = await openSimulator(owner);
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
    const owner = await createOwner();
    await using receiver = await startTestReceiver({ respond: () => ({ status: 503 }) });
    await createEndpoint(owner, receiver.url);
    await createTestJob(owner);
    const { page } = await openSimulator(owner);
    const deliveries = panel(page, "Webhook deliveries");
    await expectVisible(deliveries.getByText(/HTTP 503 \(attempt \d+\)/).first());
    await expectVisible(deliveries.getByText("Retrying").first());
  });

  it("link to the creation of an endpoint if the organisation has no test endpoint", async () => {
    const owner = await createOwner();
    await createTestJob(owner);
    const { page } = await openSimulator(owner, { viewport: PHONE });
    const deliveries = panel(page, "Webhook deliveries");
    await expectVisible(deliveries.getByRole("heading", { name: "No test endpoint yet" }));
    expect(await problemsOf(page)).toEqual([]);
    await deliveries.getByRole("link", { name: "Create an endpoint", exact: true }).click();
    await expectVisible(page.getByRole("heading", { level: 1, name: "Webhook endpoints" }));
  });
});

describe("errors", () => {
  it("of the form are at its fields, and of the server above it", async () => {
    const { page } = await openSimulator(await createOwner());
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
    const { page } = await openSimulator(await createOwner());
    await page.goto("/simulator?job=NOWHERE");
    await expectVisible(page.getByRole("heading", { name: "Job not found" }));
    await expectVisible(page.getByText("NOWHERE"));
  });
});

it("cancels a run, after which another one can start", async () => {
  const owner = await createOwner();
  const markingNumber = await createTestJob(owner);
  const { page } = await openSimulator(owner);
  await choose(page, "Time between steps", "1 minute");
  await page.getByRole("button", { name: "Start run" }).click();
  const run = panel(page, "Run a job");
  await expectVisible(run.getByText("1 of 6 steps applied"));
  expect(await problemsOf(page)).toEqual([]);
  await run.getByRole("button", { name: "Cancel run" }).click();
  await expectVisible(page.getByText("Run cancelled. 5 steps not applied."));
  await run.getByText(/steps applied$/).waitFor({ state: "hidden" });
  const { job } = await inTestMode(owner, `{ job(markingNumber: "${markingNumber}") { normalizedStatus } }`);
  expect(job.normalizedStatus).toBe("assigned");
  await page.getByRole("button", { name: "Start run" }).click();
  await expectVisible(run.getByText(/^[01] of \d steps applied$/));
});

describe("Reset test data", () => {
  it("says what is deleted, and deletes it", async () => {
    const owner = await createOwner();
    const markingNumber = await createTestJob(owner);
    const { page } = await openSimulator(owner);
    await expectVisible(panel(page, "Test jobs").getByText(markingNumber));
    await page.getByRole("button", { name: "Reset test data…" }).click();
    const dialog = page.getByRole("dialog");
    await expectVisible(dialog.getByText("all test jobs and their history"));
    expect(await problemsOf(page)).toEqual([]);
    await dialog.getByRole("button", { name: "Delete test data" }).click();
    await expectVisible(page.getByText("No test jobs yet. Create one above."));
    await expectVisible(page.getByText("1 job and 0 deliveries deleted."));
    expect((await inTestMode(owner, "{ jobs { totalCount } }")).jobs.totalCount).toBe(0);
  });

  it("shows why it is rejected during a run, and deletes nothing", async () => {
    const owner = await createOwner();
    const markingNumber = await createTestJob(owner);
    await inTestMode(
      owner,
      `mutation { runTestJob(input: { markingNumber: "${markingNumber}", path: DELIVERED, intervalMs: 60000 }) { run { endsAt } } }`,
    );
    const { page } = await openSimulator(owner);
    await page.getByRole("button", { name: "Reset test data…" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("button", { name: "Delete test data" }).click();
    await expectVisible(dialog.getByRole("alert").getByText(/^A run is in progress/));
    await dialog.getByRole("button", { name: "Cancel" }).click();
    await expectVisible(panel(page, "Test jobs").getByText(markingNumber));
  });
});

it("is in the navigation of test mode only, and live mode opens the dashboard", async () => {
  const { page } = await openSimulator(await createOwner());
  const navigation = page.getByRole("navigation", { name: "Main" });
  await expectVisible(navigation.getByRole("link", { name: "Simulator" }));
  await page.getByRole("radiogroup", { name: "Mode" }).getByText("Live", { exact: true }).click();
  await expectVisible(page.getByRole("heading", { level: 1, name: "Dashboard" }));
  expect(await navigation.getByRole("link", { name: "Simulator" }).count()).toBe(0);
});

it("shows the request that causes a chosen failure, without a key", async () => {
  const { page } = await openSimulator(await createOwner());
  await choose(page, "Failure", "503: unavailable");
  const command = page.getByRole("group", { name: "curl command" });
  const text = (await command.textContent()) ?? "";
  expect(text).toContain('-H "X-Waymark-Simulate: 503"');
  expect(text).toContain("$WAYMARK_TEST_KEY");
  expect(text).not.toContain("wmk_");
  await expectVisible(page.getByText(/Wait for the seconds in Retry-After/));
});

it("works by the keyboard alone", async () => {
  const { page } = await openSimulator(await createOwner());
  const user = createKeyboardUser(page);
  await user.fill(page.getByLabel("Recipient"), "Harbour Pharmacy");
  await user.activate(page.getByRole("button", { name: "Create jobs" }));
  await expectVisible(panel(page, "History").getByText("Created: Pending"));
  await user.activate(page.getByRole("button", { name: "Start run" }));
  await expectVisible(panel(page, "Run a job").getByText(/^[1-6] of 6 steps applied$|^Run finished$/));
});
