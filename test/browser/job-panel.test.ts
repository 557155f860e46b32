/** A job next to the list on a wide screen, and as a page otherwise. */
import { expect, it } from "vitest";
import { createAgent } from "../support/browser/console.fixture.ts";
import { startConsole } from "../support/browser/shared-console.ts";
import { DESKTOP, expectFocus, expectVisible, visit, PHONE } from "../support/browser/tabs.ts";

async function open(path: string, viewport: { width: number; height: number }) {
  const app = await startConsole();
  const pending = { patch: { normalized_status: "pending" } };
  const { agent, numbers, user } = await createAgent(app, { role: "dispatcher", jobs: [pending, pending] });
  const tab = await visit(app, path, { user, viewport });
  const change = async (number: string, patch: object): Promise<void> => {
    const body = JSON.stringify(patch);
    await app.call(`/v1/jobs/by-marking/${number}`, { method: "PATCH", key: agent.key, body });
  };
  const [first = "", second = ""] = numbers;
  return { first, second, change, ...tab };
}

it("opens next to a live list, and Back or Close returns to the list", async () => {
  const { first, second, change, page } = await open("/jobs?status=pending&sort=marking_number", DESKTOP);
  const link = (number: string) => page.getByRole("row").getByRole("link", { name: number });
  const panel = (number: string) => page.getByRole("region", { name: `Job ${number}` });
  await link(first).click();
  const heading = panel(first).getByRole("heading", { level: 2, name: first });
  await expectVisible(heading);
  await expectFocus(heading);
  expect(new URL(page.url()).search).toBe(`?status=pending&sort=marking_number&job=${first}`);
  await expectVisible(page.getByRole("status").getByText("Live"));

  await change(first, { normalized_status: "out_for_delivery" });
  await expectVisible(panel(first).getByText("Status changed: Out for delivery"));
  await expectVisible(page.getByRole("row").filter({ hasText: first }).getByText("Out for delivery"));

  await link(second).click();
  await expectVisible(panel(second).getByRole("heading", { level: 2, name: second }));
  await page.goBack();
  await panel(second).waitFor({ state: "hidden" });
  await expect.poll(() => new URL(page.url()).search).toBe("?status=pending&sort=marking_number");

  await link(second).click();
  await panel(second).getByRole("button", { name: "Close job" }).click();
  await panel(second).waitFor({ state: "hidden" });
  await expectVisible(page.getByRole("status").getByText("Live"));
  await expectFocus(link(second));

  // The browser opens a tab unless a script has prevented it. Chromium without a screen sometimes opens none.
  await page.evaluate(() =>
    window.addEventListener(
      "click",
      (event) => {
        Object.assign(globalThis, { isLeftToBrowser: !event.defaultPrevented });
        event.preventDefault();
      },
      { once: true },
    ),
  );
  await link(second).click({ modifiers: ["ControlOrMeta"] });
  expect(await page.evaluate("isLeftToBrowser")).toBe(true);
  await expect.poll(() => link(second).getAttribute("href")).toBe(`/jobs/${second}`);
  expect(await panel(second).count()).toBe(0);

  await link(second).click();
  await panel(second).getByRole("link", { name: "Open full page" }).click();
  await expectVisible(page.getByRole("heading", { level: 1, name: second }));
});

it("opens as a page on a phone, also from a link to the list with the job", async () => {
  const { first, second, page } = await open("/jobs", PHONE);
  await page.getByRole("link", { name: first }).click();
  await expectVisible(page.getByRole("heading", { level: 1, name: first }));
  await page.goto(`/jobs?status=pending&job=${second}`);
  await expectVisible(page.getByRole("heading", { level: 1, name: second }));
  expect(new URL(page.url()).pathname).toBe(`/jobs/${second}`);
});
