/** Agenda's dashboard in a real browser. */
import { beforeAll, expect, it, vi } from "vitest";
import { createTestUser } from "../support/accounts/session-client.ts";
import type { SharedApp } from "../support/app/shared-app.ts";
import { startWorkingConsole } from "../support/browser/shared-console.ts";
import { BROWSER_START_TIMEOUT_MS, BROWSER_TIMEOUT_MS, openTab } from "../support/browser/tabs.ts";

vi.setConfig({ testTimeout: BROWSER_TIMEOUT_MS, hookTimeout: BROWSER_START_TIMEOUT_MS });

let app: SharedApp;
beforeAll(async () => {
  ({ app } = await startWorkingConsole());
});

it("loads without errors other than that of its event stream, which returns 204", async () => {
  const operator = await createTestUser(app, { organizationId: null, role: "operator" });
  const { page, pageErrors } = await openTab(app, { user: operator });
  const jobs = page.waitForResponse((response) => response.url().includes("/operator/agenda/api?"));
  await page.goto("/operator/agenda/");
  expect((await jobs).status()).toBe(200);
  const stream = "fetch('api/events').then(({ status }) => status)";
  expect(await page.evaluate<number>(stream)).toBe(204);
  expect(pageErrors.filter((text) => !text.includes("SSE connection error"))).toEqual([]);
});
