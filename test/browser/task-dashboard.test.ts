/** Agenda's dashboard in a real browser. */
import { expect, it } from "vitest";
import { createTestUser } from "../support/accounts/session-client.ts";
import { startWorkingConsole } from "../support/browser/shared-console.ts";
import { openTab } from "../support/browser/tabs.ts";

const { app } = await startWorkingConsole();

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
