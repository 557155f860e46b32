/** Test mode in the console: switching, the first steps, and what members and operators see. */
import { expect, it } from "vitest";
import { scopes } from "../../../src/api-keys/api.ts";
import { fromTypedId, toTypedId } from "../../../src/core/ids.ts";
import { sql } from "../../../src/core/postgres/sql.ts";
import { createTestUser } from "../../support/accounts/session-client.ts";
import { findPageProblems } from "../../support/browser/axe.ts";
import { createAgent } from "../../support/browser/console.fixture.ts";
import { startConsole } from "../../support/browser/shared-console.ts";
import { expectVisible, PHONE, visit } from "../../support/browser/tabs.ts";
import { BAND, createTwoModes, switchTo } from "../../support/browser/test-mode.ts";
import { eventually } from "../../support/eventually.ts";

const app = await startConsole();
const { owner, liveNumber, testKey, testNumber } = await createTwoModes(app);

it("works by keyboard, and keeps the focus on the switch", async () => {
  const { page } = await visit(app, "/jobs", { user: owner });
  await expectVisible(page.getByText(liveNumber).first());
  await page.getByRole("radio", { name: "Live" }).focus();
  await page.keyboard.press("ArrowRight");
  await expectVisible(page.getByText(testNumber).first());
  expect(await page.getByRole("radio", { name: "Test" }).isChecked()).toBe(true);
  expect(await page.evaluate("document.activeElement.value")).toBe("test");
});

it("creates the test data of an organisation with the first switch, and offers what to do next", async () => {
  const { user } = await createAgent(app);
  const { page } = await visit(app, "/", { user });
  await switchTo(page, "Test");
  await expectVisible(page.getByRole("heading", { name: "No test jobs yet" }));
  await expectVisible(page.getByRole("link", { name: /Guide: Test without live data/ }).first());
});

it("lists the first steps of a new organisation, checks what is done, and can be dismissed", async () => {
  const { id: organizationId } = await app.organizations.create({ name: "New Agency", type: "agent" });
  const user = await createTestUser(app, { organizationId, role: "owner" });
  const { page } = await visit(app, "/", { user, viewport: PHONE });
  const steps = page.getByRole("region", { name: "First steps" });
  await expectVisible(steps.getByText("0 of 5 done"));
  expect(await findPageProblems(page)).toEqual([]);
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
  await app.database.query(
    sql`update api_key set last_used_at = now() where organization_id = ${organizationId}::uuid`,
  );
  await app.database.query(
    sql`update job set normalized_status = 'completed' where marking_number = ${items[0].marking_number}`,
  );
  const [user, colleague] = [
    await createTestUser(app, { organizationId, role: "owner" }),
    await createTestUser(app, { organizationId, role: "owner" }),
  ];
  const { page } = await visit(app, "/", { user });
  await eventually(async () => {
    const stored = await page.evaluate(
      (id) => localStorage.getItem(id),
      `waymark-first-steps:${toTypedId("usr", user.id)}`,
    );
    expect(stored).not.toBeNull();
  });
  expect((await app.call("/v1/test/reset", { key, method: "POST" })).status).toBe(200);
  const other = await visit(app, "/", { user: colleague });
  await expectVisible(other.page.getByText("3 of 5 done"));
  await page.reload();
  await expectVisible(page.getByRole("heading", { name: "No jobs yet" }));
  await expectVisible(page.getByRole("status").getByText("Live", { exact: true }));
  expect(await page.getByRole("region", { name: "First steps" }).count()).toBe(0);
});

it("tells a member that an owner must switch first", async () => {
  const { user } = await createAgent(app, { role: "dispatcher" });
  const { page } = await visit(app, "/", { user }, /403/);
  await switchTo(page, "Test");
  await expectVisible(page.getByText(/Ask an owner or developer to switch to test mode once/));
  expect(await page.getByText(BAND).count()).toBe(0);
});

it("offers no switch to operators", async () => {
  const operator = await createTestUser(app, { organizationId: null, role: "operator" });
  const { page } = await visit(app, "/", { user: operator });
  await expectVisible(page.getByRole("heading", { name: "Dashboard" }));
  expect(await page.getByRole("radiogroup", { name: "Mode" }).count()).toBe(0);
});

it("offers live mode where a live job is opened in test mode, and the reverse", async () => {
  const { page } = await visit(app, "/jobs", { user: owner });
  await switchTo(page, "Test");
  await expectVisible(page.getByText(testNumber).first());
  await page.goto(`/jobs/${liveNumber}`);
  await page.getByRole("button", { name: "Switch to live mode" }).click();
  await expectVisible(page.getByRole("heading", { level: 1, name: liveNumber }));
  await page.goto(`/jobs/${testNumber}`);
  await page.getByRole("button", { name: "Switch to test mode" }).click();
  await expectVisible(page.getByRole("heading", { level: 1, name: testNumber }));
  // The switch itself leaves the page of one job.
  await switchTo(page, "Live");
  await page.waitForURL(`${app.url}/jobs`);
  await page.goto("/members");
  await switchTo(page, "Test");
  await page.waitForURL(`${app.url}/`);
});

it("marks a simulated failure in the request log", async () => {
  const headers = { "X-Waymark-Simulate": "503" };
  const { body } = await app.call("/v1/me", { key: testKey, headers });
  await eventually(async () => {
    const { status } = await app.call(`/v1/requests/${body.request_id}`, { key: testKey });
    expect(status).toBe(200);
  });
  const { page } = await visit(app, "/integrations/requests", { user: owner });
  await switchTo(page, "Test");
  const row = page.getByRole("row").filter({ hasText: "/v1/me" });
  await expectVisible(row.getByText("Simulated", { exact: true }));
  expect(await page.getByText("Simulated", { exact: true }).count()).toBe(1);
  await row.getByRole("button", { name: "GET /v1/me" }).click();
  await expectVisible(page.getByRole("dialog").getByText("Simulated", { exact: true }));
  await expectVisible(page.getByRole("dialog").getByText("X-Waymark-Simulate: 503"));
  expect(await findPageProblems(page)).toEqual([]);
});

it("marks a request with unknown parameters in the request log", async () => {
  const { body } = await app.call("/v1/reference/statuses?lang=en", { key: testKey });
  await eventually(async () => {
    const { status } = await app.call(`/v1/requests/${body.request_id}`, { key: testKey });
    expect(status).toBe(200);
  });
  const { page } = await visit(app, "/integrations/requests", { user: owner });
  await switchTo(page, "Test");
  const row = page.getByRole("row").filter({ hasText: "/v1/reference/statuses" });
  await expectVisible(row.getByText("Ignored parameters", { exact: true }));
  await row.getByRole("button").click();
  await expectVisible(page.getByRole("dialog").getByText("lang", { exact: true }));
  expect(await findPageProblems(page)).toEqual([]);
});

it("exports the jobs of the mode", async () => {
  const { page } = await visit(app, "/jobs", { user: owner });
  await switchTo(page, "Test");
  await expectVisible(page.getByText(testNumber).first());
  await page.getByRole("button", { name: "Export" }).click();
  const href = await page.getByRole("menuitem", { name: /For re-import/ }).getAttribute("href");
  expect(new URL(href ?? "").searchParams.get("mode")).toBe("test");
});
