/** The console's switch between live and test mode. */
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { scopes } from "../../src/api-keys/api.ts";
import { fromTypedId, toTypedId } from "../../src/platform/ids.ts";
import { sql } from "../../src/platform/postgres/sql.ts";
import { createTestUser, type TestUser } from "../support/accounts/session-client.ts";
import { createSignedInUser, type SignedInTestUser } from "../support/accounts/signed-in-user.ts";
import { startTestApp, type TestApp, type TestOrganization } from "../support/app/app.fixture.ts";
import { eventually } from "../support/eventually.ts";
import { graphql } from "../support/graphql/client.ts";
import { findAccessibilityViolations } from "../support/browser/axe.ts";
import {
  BROWSER_START_TIMEOUT_MS,
  BROWSER_TIMEOUT_MS,
  DESKTOP,
  expectVisible,
  openTab,
  PHONE,
  startBrowser,
} from "../support/browser/tabs.ts";

vi.setConfig({ testTimeout: BROWSER_TIMEOUT_MS, hookTimeout: BROWSER_START_TIMEOUT_MS });

const opened = new AsyncDisposableStack();
const BAND = "Test mode: nothing here is live";
let browser: Browser;
let app: TestApp;
let agent: TestOrganization;
let owner: SignedInTestUser;
let testKey: string;
let testNumber: string;

beforeAll(async () => {
  browser = opened.adopt(await startBrowser(), (instance) => instance.close());
  app = opened.use(await startTestApp({ WAYMARK_ROLE: "api", WEBHOOK_ALLOW_PRIVATE: "on" }));
  agent = await app.createOrganization("agent");
  owner = await createSignedInUser(app, agent.id);
  await app.createJobs(agent, [{ markingNumber: "LIVE-1" }]);
  const { text } = await app.keys.create({
    organizationId: agent.id,
    name: "Tests",
    createdBy: "test",
    testSide: "agent",
  });
  testKey = text;
  const { body } = await app.call("/v1/test/jobs", { key: text, method: "POST", body: "{}" });
  testNumber = (body.data as { items: { marking_number: string }[] }).items[0]?.marking_number ?? "";
});
afterAll(() => opened.disposeAsync());

interface Visit {
  user?: TestUser;
  viewport?: typeof DESKTOP;
}

/** Expects no errors in the browser's console when the test ends, except `allowed`. */
async function visit(path: string, { user = owner, viewport = DESKTOP }: Visit = {}, allowed = /^$/) {
  const tab = await openTab(browser, app, { user, viewport });
  onTestFinished(async () => {
    await tab.context.close();
    expect(tab.pageErrors.filter((error) => !allowed.test(error))).toEqual([]);
  });
  await tab.page.goto(`${app.url}${path}`);
  return tab;
}

/** Selects a mode. On a phone, the switch is in the menu. */
async function switchTo(page: Page, mode: "Live" | "Test"): Promise<void> {
  const menu = page.getByRole("button", { name: "Menu", exact: true });
  await expectVisible(page.locator("main h1"));
  if (await menu.isVisible()) await menu.click();
  await page
    .getByRole("radiogroup", { name: "Mode" })
    .getByText(mode, { exact: true })
    .filter({ visible: true })
    .click();
}

/** From 0 (black) to 1 (white): of the text of the selected mode. */
async function luminanceOfLabel(page: Page, mode: string): Promise<number> {
  const label = page.locator("label").filter({ hasText: new RegExp(`^${mode}$`) });
  const color = await label.first().evaluate((element) => getComputedStyle(element).color);
  const channels = color.match(/\d+/g)?.slice(0, 3).map(Number) ?? [];
  return channels.reduce((sum, each) => sum + each, 0) / (3 * 255);
}

describe.each([
  ["desktop", DESKTOP],
  ["phone", PHONE],
])("on a %s", (_device, viewport) => {
  it("shows only the jobs of the chosen mode, and no page that is live only", async () => {
    const { page } = await visit("/jobs", { viewport });
    await expectVisible(page.getByText("LIVE-1").first());
    await switchTo(page, "Test");
    await expectVisible(page.getByText(testNumber).first());
    await expectVisible(page.getByText(BAND));
    expect(await page.getByText("LIVE-1").count()).toBe(0);
    expect(await page.getByRole("link", { name: "Members", includeHidden: true }).count()).toBe(0);
    await page.reload();
    await expectVisible(page.getByText(testNumber).first());
    await switchTo(page, "Live");
    await expectVisible(page.getByText("LIVE-1").first());
    await page.getByText(BAND).waitFor({ state: "detached" });
    expect(await page.getByText(testNumber).count()).toBe(0);
  });

  it.each(["light", "dark"] as const)("is accessible in the %s scheme", async (colorScheme) => {
    const { page } = await visit("/", { viewport });
    await page.emulateMedia({ colorScheme });
    await expectVisible(page.locator("main h1"));
    // axe does not see the indicator behind the text.
    expect(await luminanceOfLabel(page, "Live")).toSatisfy((value: number) =>
      colorScheme === "light" ? value < 0.2 : value > 0.8,
    );
    await switchTo(page, "Test");
    await expectVisible(page.getByText(BAND));
    for (const [path, heading] of [
      ["/", "Dashboard"],
      ["/jobs", "Jobs"],
      ["/jobs/LIVE-1", "Job not found"],
      ["/integrations/keys", "API keys"],
      ["/integrations/endpoints", "Webhook endpoints"],
      ["/integrations/deliveries", "Deliveries"],
      ["/members", "This page belongs to live mode"],
    ] as const) {
      await page.goto(`${app.url}${path}`);
      await expectVisible(page.getByRole("heading", { level: 1, name: heading }));
      await page.waitForLoadState("networkidle");
      expect(await findAccessibilityViolations(page)).toEqual([]);
      expect(
        await page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth"),
      ).toBe(true);
    }
    if (viewport === PHONE) await page.getByRole("button", { name: "Menu", exact: true }).click();
    expect(await findAccessibilityViolations(page)).toEqual([]);
  });
});

it("works by keyboard, and keeps the focus on the switch", async () => {
  const { page } = await visit("/jobs");
  await expectVisible(page.getByText("LIVE-1").first());
  await page.getByRole("radio", { name: "Live" }).focus();
  await page.keyboard.press("ArrowRight");
  await expectVisible(page.getByText(testNumber).first());
  expect(await page.getByRole("radio", { name: "Test" }).isChecked()).toBe(true);
  expect(await page.evaluate("document.activeElement.value")).toBe("test");
});

it("creates the test data of an organisation with the first switch, and offers what to do next", async () => {
  const other = await app.createOrganization("agent");
  const user = await createTestUser(app, { organizationId: other.id, role: "owner" });
  const { page } = await visit("/", { user });
  await switchTo(page, "Test");
  await expectVisible(page.getByRole("heading", { name: "No test jobs yet" }));
  await expectVisible(page.getByRole("link", { name: /Guide: Test without live data/ }).first());
});

it("lists the first steps of a new organisation, checks what is done, and can be dismissed", async () => {
  const { id: organizationId } = await app.organizations.create({ name: "New Agency", type: "agent" });
  const user = await createTestUser(app, { organizationId, role: "owner" });
  const { page } = await visit("/", { user, viewport: PHONE });
  const steps = page.getByRole("region", { name: "First steps" });
  await expectVisible(steps.getByText("0 of 5 done"));
  expect(await findAccessibilityViolations(page)).toEqual([]);
  await app.keys.create({ organizationId, name: "t", createdBy: "test", testSide: "agent" });
  await page.reload();
  await expectVisible(steps.getByText("1 of 5 done"));
  await expectVisible(steps.getByRole("listitem").filter({ hasText: "DoneCreate a test key" }));
  await switchTo(page, "Test");
  await expectVisible(steps.getByText("1 of 5 done"));
  await steps.getByRole("button", { name: "Dismiss" }).click();
  await steps.waitFor({ state: "detached" });
  await page.reload();
  await expectVisible(page.getByRole("heading", { name: "No test jobs yet" }));
  expect(await steps.count()).toBe(0);
});

it("keeps the first steps away once all are done, also after a reset", async () => {
  const { id: organizationId } = await app.organizations.create({
    name: "Experienced Agency",
    type: "agent",
  });
  const create = (testSide?: "agent") =>
    app.keys.create({ organizationId, name: "t", createdBy: "test", testSide, scopes });
  const { text: key } = await create("agent");
  await create();
  const post = async (path: string, body: object) =>
    (await app.call(path, { key, method: "POST", body: JSON.stringify(body) })).body.data;
  const { items } = await post("/v1/test/jobs", {});
  const { endpoint } = await post("/v1/webhook-endpoints", { url: "http://127.0.0.1:9/" });
  await post(`/v1/webhook-endpoints/${endpoint.id}/test`, {});
  await app.database
    .query(sql`update webhook_delivery set status = 'delivered', attempts = 1, finished_at = now()
    where endpoint_id = ${fromTypedId("whe", endpoint.id)}`);
  await app.database.query(sql`update api_key set last_used_at = now()`);
  await app.database.query(
    sql`update job set normalized_status = 'completed' where marking_number = ${items[0].marking_number}`,
  );
  const [user, colleague] = [
    await createTestUser(app, { organizationId, role: "owner" }),
    await createTestUser(app, { organizationId, role: "owner" }),
  ];
  const { page } = await visit("/", { user });
  await eventually(async () => {
    const stored = await page.evaluate(
      (id) => localStorage.getItem(id),
      `waymark-first-steps:${toTypedId("usr", user.id)}`,
    );
    expect(stored).not.toBeNull();
  });
  expect((await app.call("/v1/test/reset", { key, method: "POST" })).status).toBe(200);
  const other = await visit("/", { user: colleague });
  await expectVisible(other.page.getByText("3 of 5 done"));
  await page.reload();
  await expectVisible(page.getByRole("heading", { name: "No jobs yet" }));
  await page.waitForLoadState("networkidle");
  expect(await page.getByRole("region", { name: "First steps" }).count()).toBe(0);
});

it("tells a member that an owner must switch first", async () => {
  const other = await app.createOrganization("agent");
  const user = await createTestUser(app, { organizationId: other.id, role: "member" });
  const { page } = await visit("/", { user }, /403/);
  await switchTo(page, "Test");
  await expectVisible(page.getByText(/Ask an owner to switch to test mode once/));
  expect(await page.getByText(BAND).count()).toBe(0);
});

it("returns to live mode if the organisation's test data is gone", async () => {
  const other = await app.createOrganization("agent");
  const user = await createTestUser(app, { organizationId: other.id, role: "member" });
  const { page } = await visit("/", { user }, /403|WebSocket/);
  await expectVisible(page.getByRole("heading", { name: "No jobs yet" }));
  await page.evaluate(
    (key) => localStorage.setItem(key, "test"),
    `waymark-mode:${toTypedId("usr", user.id)}`,
  );
  await page.evaluate(() => sessionStorage.clear());
  await page.reload();
  await expectVisible(page.getByRole("heading", { name: "No jobs yet" }));
  expect(await page.getByText(BAND).count()).toBe(0);
});

it("shows operators live endpoints, deliveries and keys, and marked test ones on request", async () => {
  const { id: organizationId, key } = await app.createOrganization("agent", { scopes });
  const { text } = await app.keys.create({
    organizationId,
    name: "Operators see it",
    createdBy: "test",
    testSide: "agent",
    scopes,
  });
  for (const [of, url] of [
    [key, "http://127.0.0.1:9/of-live"],
    [text, "http://127.0.0.1:9/of-test"],
  ] as const) {
    const post = async (path: string, body: object) =>
      (await app.call(path, { key: of, method: "POST", body: JSON.stringify(body) })).body.data;
    const { endpoint } = await post("/v1/webhook-endpoints", { url });
    await post(`/v1/webhook-endpoints/${endpoint.id}/test`, {});
  }
  const operator = await createTestUser(app, { organizationId: null, role: "operator" });
  const { page } = await visit("/integrations/endpoints", { user: operator });
  const choose = (mode: string) =>
    page.getByRole("radiogroup", { name: "Data" }).getByText(mode, { exact: true }).click();
  for (const path of ["endpoints", "deliveries"]) {
    await page.goto(`${app.url}/integrations/${path}`);
    await expectVisible(page.getByRole("row").filter({ hasText: "of-live" }));
    expect(await page.getByText("of-test").count()).toBe(0);
    await choose("Test");
    const row = page.getByRole("row").filter({ hasText: "of-test" });
    await expectVisible(row.getByText("Test", { exact: true }));
    expect(await page.getByText("of-live").count()).toBe(0);
    expect(await findAccessibilityViolations(page)).toEqual([]);
  }
  await page.goto(`${app.url}/integrations/keys`);
  await expectVisible(page.getByRole("button", { name: "Create API key" }));
  expect(await page.getByText("Operators see it").count()).toBe(0);
  await choose("Test");
  await expectVisible(page.getByText("Operators see it"));
});

it("offers no switch to operators", async () => {
  const operator = await createTestUser(app, { organizationId: null, role: "operator" });
  const { page } = await visit("/", { user: operator });
  await expectVisible(page.getByRole("heading", { name: "Dashboard" }));
  expect(await page.getByRole("radiogroup", { name: "Mode" }).count()).toBe(0);
});

it("offers live mode where a live job is opened in test mode, and the reverse", async () => {
  const { page } = await visit("/jobs");
  await switchTo(page, "Test");
  await expectVisible(page.getByText(testNumber).first());
  await page.goto(`${app.url}/jobs/LIVE-1`);
  await page.getByRole("button", { name: "Switch to live mode" }).click();
  await expectVisible(page.getByRole("heading", { level: 1, name: "LIVE-1" }));
  await page.goto(`${app.url}/jobs/${testNumber}`);
  await page.getByRole("button", { name: "Switch to test mode" }).click();
  await expectVisible(page.getByRole("heading", { level: 1, name: testNumber }));
  // The switch itself leaves the page of one job.
  await switchTo(page, "Live");
  await page.waitForURL(`${app.url}/jobs`);
  await page.goto(`${app.url}/members`);
  await switchTo(page, "Test");
  await page.waitForURL(`${app.url}/`);
});

it("a second tab starts in the last mode, and keeps its own", async () => {
  const { page, context } = await visit("/jobs");
  await switchTo(page, "Test");
  await expectVisible(page.getByText(testNumber).first());
  const second = await context.newPage();
  await second.goto(`${app.url}/jobs`);
  await expectVisible(second.getByText(testNumber).first());
  await switchTo(second, "Live");
  await expectVisible(second.getByText("LIVE-1").first());
  await page.reload();
  await expectVisible(page.getByText(testNumber).first());
});

async function changeJob(markingNumber: string, mode: string): Promise<void> {
  const { errors } = await graphql(
    app,
    `
      mutation ($input: UpdateJobInput!) {
        updateJob(input: $input) {
          job {
            id
          }
        }
      }
    `,
    {
      headers: { ...owner.headers, "x-waymark-mode": mode },
      variables: { input: { markingNumber, patch: { labels: "changed" } } },
    },
  );
  expect(errors).toBeUndefined();
}

it("shows live updates of test jobs, and none of live jobs", async () => {
  const { page } = await visit("/");
  await switchTo(page, "Test");
  await expectVisible(page.getByText("Connected", { exact: true }));
  const feed = page.getByRole("region", { name: /change/i });
  await changeJob("LIVE-1", "live");
  await changeJob(testNumber, "test");
  await expectVisible(feed.getByText(testNumber).first());
  expect(await page.getByText("LIVE-1").count()).toBe(0);
});

it("creates and lists test keys only", async () => {
  const { page } = await visit("/integrations/keys");
  await expectVisible(page.getByText("Tests", { exact: true }));
  await switchTo(page, "Test");
  await page.getByRole("button", { name: "Create test key" }).first().click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Name").fill("From test mode");
  expect(await dialog.getByLabel("Test key").count()).toBe(0);
  await dialog.getByRole("button", { name: "Create test key" }).click();
  await expectVisible(dialog.getByText(/wmk_test_/).first());
  await page.reload();
  await expectVisible(page.getByText("From test mode"));
  const rows = page.getByRole("row").filter({ hasText: "wmk_" });
  expect(await rows.count()).toBe(await rows.filter({ hasText: "wmk_test_" }).count());
});

it("marks a simulated failure in the request log", async () => {
  const headers = { "X-Waymark-Simulate": "503" };
  const { body } = await app.call("/v1/me", { key: testKey, headers });
  await eventually(async () => {
    const { status } = await app.call(`/v1/requests/${body.request_id}`, { key: testKey });
    expect(status).toBe(200);
  });
  const { page } = await visit("/integrations/requests");
  await switchTo(page, "Test");
  const row = page.getByRole("row").filter({ hasText: "/v1/me" });
  await expectVisible(row.getByText("Simulated", { exact: true }));
  expect(await page.getByText("Simulated", { exact: true }).count()).toBe(1);
  await row.getByRole("button", { name: "GET /v1/me" }).click();
  await expectVisible(page.getByRole("dialog").getByText("Simulated", { exact: true }));
  await expectVisible(page.getByRole("dialog").getByText("X-Waymark-Simulate: 503"));
  expect(await findAccessibilityViolations(page)).toEqual([]);
});

it("exports the jobs of the mode", async () => {
  const { page } = await visit("/jobs");
  await switchTo(page, "Test");
  await expectVisible(page.getByText(testNumber).first());
  await page.getByRole("button", { name: "Export CSV" }).click();
  const href = await page.getByRole("menuitem", { name: /Spreadsheet/ }).getAttribute("href");
  expect(new URL(href ?? "").searchParams.get("mode")).toBe("test");
});
