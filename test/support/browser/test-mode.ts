/** The switch between live and test mode, and an organisation with data in both. */
import type { Page } from "playwright-core";
import type { SharedApp } from "../app/shared-app.ts";
import { createAgent } from "./console.fixture.ts";
import { expectVisible } from "./tabs.ts";

/** Shown in test mode. */
export const BAND = "Test mode: nothing here is live";

export async function createTwoModes(app: SharedApp) {
  const { agent, numbers, user: owner } = await createAgent(app, { jobs: [{}] });
  const [liveNumber = ""] = numbers;
  const testKey = await app.createKey(agent.id, { name: "Tests", testSide: "agent" });
  const { body } = await app.call("/v1/test/jobs", { key: testKey, method: "POST", body: "{}" });
  const { items } = body.data as { items: { marking_number: string }[] };
  return { agent, owner, liveNumber, testKey, testNumber: items[0]?.marking_number ?? "" };
}

/** Selects a mode. On a phone, the switch is in the menu. */
export async function switchTo(page: Page, mode: "Live" | "Test"): Promise<void> {
  const menu = page.getByRole("button", { name: "Menu", exact: true });
  await expectVisible(page.locator("main h1"));
  if (await menu.isVisible()) await menu.click();
  await page
    .getByRole("radiogroup", { name: "Mode" })
    .getByText(mode, { exact: true })
    .filter({ visible: true })
    .click();
}
