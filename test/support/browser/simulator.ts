/** The simulator of test mode, and what its tests need. */
import type { Page } from "playwright-core";
import type { SignedInTestUser } from "../accounts/signed-in-user.ts";
import type { SharedApp } from "../app/shared-app.ts";
import { queryData } from "../graphql/client.ts";
import { createAgent } from "./console.fixture.ts";
import { expectVisible, openTab, type TabOptions } from "./tabs.ts";

/** Creates an owner of a new agent with test data. */
export async function createOwner(app: SharedApp): Promise<SignedInTestUser> {
  const { user: owner } = await createAgent(app);
  await owner.client.post("/auth/test-mode");
  return owner;
}

export function inTestMode(app: SharedApp, owner: SignedInTestUser, query: string, variables = {}) {
  return queryData(app, query, { headers: { ...owner.headers, "x-waymark-mode": "test" }, variables });
}

export async function createEndpoint(app: SharedApp, owner: SignedInTestUser, url: string): Promise<string> {
  const { createWebhookEndpoint } = await inTestMode(
    app,
    owner,
    "mutation ($url: String!) { createWebhookEndpoint(input: { url: $url }) { secret } }",
    { url },
  );
  return createWebhookEndpoint.secret as string;
}

export async function createTestJob(app: SharedApp, owner: SignedInTestUser): Promise<string> {
  const { createTestJobs } = await inTestMode(
    app,
    owner,
    "mutation { createTestJobs(input: {}) { jobs { markingNumber } } }",
  );
  return createTestJobs.jobs[0].markingNumber as string;
}

export async function openSimulator(app: SharedApp, owner: SignedInTestUser, options: TabOptions = {}) {
  const tab = await openTab(app, { user: owner, ...options });
  await tab.page.goto("/simulator");
  await tab.page.getByRole("button", { name: "Switch to test mode" }).click();
  await expectVisible(tab.page.getByRole("heading", { level: 1, name: "Simulator" }));
  return tab;
}

export const panel = (page: Page, name: string) => page.getByRole("region", { name, exact: true });

export async function choose(page: Page, label: string, option: string): Promise<void> {
  await page.getByRole("combobox", { name: label, exact: true }).click();
  await page.getByRole("option", { name: option, exact: true }).click();
}
