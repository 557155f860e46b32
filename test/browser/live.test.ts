/** What changes elsewhere is seen by who looks on, without a step of their own. */
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, expect, it, vi } from "vitest";
import { makePerson, type Person } from "../support/account.ts";
import { BROWSER_TIMEOUT_MS, expectToSee, startBrowser, openTab } from "../support/browser.ts";
import { startTestApp, type Partner, type TestApp } from "../support/start-app.ts";

vi.setConfig({ testTimeout: BROWSER_TIMEOUT_MS, hookTimeout: BROWSER_TIMEOUT_MS });

const opened = new AsyncDisposableStack();
let browser: Browser;
let app: TestApp;
let agent: Partner;
let owner: Person;
let page: Page;
let markingNumber: string;

beforeAll(async () => {
  browser = opened.adopt(await startBrowser(), (one) => one.close());
  app = opened.use(await startTestApp({ WAYMARK_ROLE: "api" }));
});
beforeEach(async () => {
  agent = await app.partner("agent");
  owner = await makePerson(app, { organizationId: agent.id, role: "owner" });
  [markingNumber = ""] = await app.jobs(agent, [{ patch: { normalized_status: "pending" } }]);
  ({ page } = await openTab(browser, app, { person: owner }));
  return () => page.context().close();
});
afterAll(() => opened.disposeAsync());

/** By REST, as another program does. */
async function change(patch: object): Promise<void> {
  const path = `/v1/jobs/by-marking/${markingNumber}`;
  const { status } = await app.call(path, { method: "PATCH", key: agent.key, body: JSON.stringify(patch) });
  expect(status).toBe(200);
}

/** A page says when it is loaded, but not from when on it is told of changes: the first that it shows tells. */
async function untilItFollows(): Promise<void> {
  let turn = 0;
  await expect
    .poll(
      async () => {
        turn += 1;
        await change({ instructions: `Ring bell ${turn}` });
        return await page.getByText(/^Ring bell \d+$/).count();
      },
      { timeout: 30_000, interval: 250 },
    )
    .toBeGreaterThan(0);
}

it("a job's page shows the new status, and the step in its history", async () => {
  await page.goto(`/jobs/${markingNumber}`);
  await expectToSee(page.getByRole("heading", { name: markingNumber }));
  await untilItFollows();

  await change({ normalized_status: "out_for_delivery" });
  await expectToSee(
    page.getByRole("region", { name: "History" }).getByText("Status changed: Out for delivery"),
  );
  await page.getByText("This job has changed. It is Out for delivery now.").waitFor({ state: "attached" });
});

it("the form of a job keeps what was typed, and says what somebody else has changed meanwhile", async () => {
  await page.goto(`/jobs/${markingNumber}`);
  await expectToSee(page.getByRole("heading", { name: markingNumber }));
  await untilItFollows();
  await page.getByRole("button", { name: "Edit" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("textbox", { name: "Recipient", exact: true }).fill("Harbour Pharmacy");

  await change({ recipient_name: "Mill Lane Bakery", postal_code: "1234" });
  await expectToSee(dialog.getByText("Somebody changed this job meanwhile"));
  await expect.poll(() => dialog.getByLabel("Postal code").inputValue()).toBe("1234");
  expect(await dialog.getByRole("textbox", { name: "Recipient", exact: true }).inputValue()).toBe(
    "Harbour Pharmacy",
  );
  expect(await dialog.getByRole("button", { name: "Save" }).isDisabled(), "first one chooses").toBe(true);
});

it("the dashboard counts anew, and tells what has happened", async () => {
  await page.goto("/");
  await expectToSee(page.getByRole("status").getByText("Live", { exact: true }));
  const tiles = page.getByRole("list", { name: "Jobs by category" });
  await expectToSee(tiles.getByRole("link", { name: /^Open\s*1$/ }));

  await change({ normalized_status: "failed", failure_reason: "recipient_unavailable" });
  await expectToSee(page.getByText("Pending → Delivery failed"));
  await expectToSee(tiles.getByRole("link", { name: /^Open\s*0$/ }));
  await expectToSee(tiles.getByRole("link", { name: /^Attention\s*1$/ }));
});
