/** The console's switch between live and test mode. */
import { describe, expect, it } from "vitest";
import { scopes } from "../../src/api-keys/api.ts";
import { toTypedId } from "../../src/core/ids.ts";
import { createTestUser } from "../support/accounts/session-client.ts";
import { queryData } from "../support/graphql/client.ts";
import { findPageProblems } from "../support/browser/axe.ts";
import { createAgent } from "../support/browser/console.fixture.ts";
import { startConsole } from "../support/browser/shared-console.ts";
import { BAND, createTwoModes, switchTo } from "../support/browser/test-mode.ts";
import { DESKTOP, expectVisible, PHONE, visit } from "../support/browser/tabs.ts";

const app = await startConsole();
const { owner, liveNumber, testNumber } = await createTwoModes(app);

describe.each([
  ["desktop", DESKTOP],
  ["phone", PHONE],
])("on a %s", (_device, viewport) => {
  it("shows only the jobs of the chosen mode, and no page that is live only", async () => {
    const { page } = await visit(app, "/jobs", { user: owner, viewport });
    await expectVisible(page.getByText(liveNumber).first());
    await switchTo(page, "Test");
    await expectVisible(page.getByText(testNumber).first());
    await expectVisible(page.getByText(BAND));
    expect(await page.getByText(liveNumber).count()).toBe(0);
    expect(await page.getByRole("link", { name: "Members", includeHidden: true }).count()).toBe(0);
    await page.reload();
    await expectVisible(page.getByText(testNumber).first());
    await switchTo(page, "Live");
    await expectVisible(page.getByText(liveNumber).first());
    await page.getByText(BAND).waitFor({ state: "detached" });
    expect(await page.getByText(testNumber).count()).toBe(0);
  });
});

it("returns to live mode if the organisation's test data is gone", { tags: "long" }, async () => {
  const { user } = await createAgent(app, { role: "dispatcher" });
  const { page } = await visit(app, "/", { user }, /403|WebSocket/);
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
  const { page } = await visit(app, "/integrations/endpoints", { user: operator });
  const choose = (mode: string) =>
    page.getByRole("radiogroup", { name: "Data" }).getByText(mode, { exact: true }).click();
  for (const path of ["endpoints", "deliveries"]) {
    await page.goto(`/integrations/${path}`);
    await expectVisible(page.getByRole("row").filter({ hasText: "of-live" }));
    expect(await page.getByText("of-test").count()).toBe(0);
    await choose("Test");
    const row = page.getByRole("row").filter({ hasText: "of-test" });
    await expectVisible(row.getByText("Test", { exact: true }));
    expect(await page.getByText("of-live").count()).toBe(0);
    expect(await findPageProblems(page)).toEqual([]);
  }
  await page.goto("/integrations/keys");
  await expectVisible(page.getByRole("button", { name: "Create API key" }));
  expect(await page.getByText("Operators see it").count()).toBe(0);
  await choose("Test");
  await expectVisible(page.getByText("Operators see it"));
});

it("a second tab starts in the last mode, and keeps its own", { tags: "long" }, async () => {
  const { page, context } = await visit(app, "/jobs", { user: owner });
  await switchTo(page, "Test");
  await expectVisible(page.getByText(testNumber).first());
  const second = await context.newPage();
  await second.goto("/jobs");
  await expectVisible(second.getByText(testNumber).first());
  await switchTo(second, "Live");
  await expectVisible(second.getByText(liveNumber).first());
  await page.reload();
  await expectVisible(page.getByText(testNumber).first());
});

async function changeJob(markingNumber: string, mode: string): Promise<void> {
  const { updateJob } = await queryData(
    app,
    "mutation ($input: UpdateJobInput!) { updateJob(input: $input) { userErrors { message } } }",
    {
      headers: { ...owner.headers, "x-waymark-mode": mode },
      variables: { input: { markingNumber, patch: { labels: "changed" } } },
    },
  );
  expect(updateJob.userErrors).toEqual([]);
}

it("shows live updates of test jobs, and none of live jobs", async () => {
  const { page } = await visit(app, "/", { user: owner });
  await switchTo(page, "Test");
  await expectVisible(page.getByText("Connected", { exact: true }));
  const feed = page.getByRole("region", { name: /change/i });
  await changeJob(liveNumber, "live");
  await changeJob(testNumber, "test");
  await expectVisible(feed.getByText(testNumber).first());
  expect(await page.getByText(liveNumber).count()).toBe(0);
});

it("marks test keys in live mode, and creates and lists them only in test mode", async () => {
  const { page } = await visit(app, "/integrations/keys", { user: owner });
  await expectVisible(page.getByText("Tests", { exact: true }));
  await page.getByRole("button", { name: "Create API key" }).first().click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Name").fill("Tests in CI");
  await dialog.getByLabel("Test key").check();
  expect(await findPageProblems(page)).toEqual([]);
  await dialog.getByRole("button", { name: "Create API key" }).click();
  await expectVisible(dialog.getByText(/wmk_test_/).first());
  await page.reload();
  await expectVisible(page.getByRole("row", { name: /^Tests in CI/ }).getByText("Test", { exact: true }));

  await switchTo(page, "Test");
  await page.getByRole("button", { name: "Create test key" }).first().click();
  await dialog.getByLabel("Name").fill("From test mode");
  expect(await dialog.getByLabel("Test key").count()).toBe(0);
  await dialog.getByRole("button", { name: "Create test key" }).click();
  await expectVisible(dialog.getByText(/wmk_test_/).first());
  await page.reload();
  await expectVisible(page.getByText("From test mode"));
  const rows = page.getByRole("row").filter({ hasText: "wmk_" });
  expect(await rows.count()).toBe(await rows.filter({ hasText: "wmk_test_" }).count());
});
