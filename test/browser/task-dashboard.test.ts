/** Agenda's dashboard in a real browser. */
import { expect, it, vi } from "vitest";
import { createTestUser } from "../support/accounts/session-client.ts";
import {
  BROWSER_START_TIMEOUT_MS,
  BROWSER_TIMEOUT_MS,
  openTab,
  startBrowser,
} from "../support/browser/tabs.ts";
import { startTestApp } from "../support/app/app.fixture.ts";
import { createTestMongo } from "../support/database/test-mongo.ts";

vi.setConfig({ testTimeout: BROWSER_TIMEOUT_MS, hookTimeout: BROWSER_START_TIMEOUT_MS });

it("loads without console errors, because its event stream returns 204", async () => {
  await using opened = new AsyncDisposableStack();
  const browser = opened.adopt(await startBrowser(), (one) => one.close());
  const mongo = opened.use(createTestMongo());
  const app = opened.use(await startTestApp({ MONGODB_URL: mongo.url }));
  const operator = await createTestUser(app, { organizationId: null, role: "operator" });
  const { page, pageErrors } = await openTab(browser, app, { user: operator });
  const jobs = page.waitForResponse((response) => response.url().includes("/operator/agenda/api?"));
  await page.goto("/operator/agenda/");
  expect((await jobs).status()).toBe(200);
  await page.waitForLoadState("networkidle");
  const stream = "fetch('api/events').then(({ status }) => status)";
  expect(await page.evaluate<number>(stream)).toBe(204);
  expect(pageErrors).toEqual([]);
});
