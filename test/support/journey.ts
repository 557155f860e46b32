/** The way from "we would like access" to the first changed job and its webhook, step by step in the console. */
import type { Page } from "playwright-core";
import { expect } from "vitest";
import { GOOD_PASSWORD } from "./account.ts";
import { expectToSee } from "./browser.ts";
import type { Hands } from "./hands.ts";

/** Somebody at a page. */
export interface Visitor {
  readonly page: Page;
  readonly hands: Hands;
}

export async function requestAccount(
  { page, hands }: Visitor,
  email: string,
  organization: string,
): Promise<void> {
  await page.goto("/");
  await hands.press(page.getByRole("link", { name: "Request one" }));
  await hands.write(page.getByLabel("Your e-mail at work"), email);
  await hands.write(page.getByLabel("Organisation", { exact: true }), organization);
  await hands.pick(page.getByRole("radio", { name: "Contractor" }));
  await hands.press(page.getByRole("button", { name: "Send request" }));
  await page.getByRole("heading", { name: "Your request is on its way" }).waitFor();
}

export async function signInByForm(
  { page, hands }: Visitor,
  { email, password }: { email: string; password: string },
): Promise<void> {
  await hands.write(page.getByLabel("E-mail"), email);
  await hands.write(page.getByLabel("Password", { exact: true }), password);
  await hands.press(page.getByRole("button", { name: "Sign in" }));
  await page.getByRole("heading", { level: 1, name: "Dashboard" }).waitFor();
}

export async function approve({ page, hands }: Visitor, organization: string): Promise<void> {
  await hands.press(page.getByRole("link", { name: "Requests" }));
  await hands.press(page.getByRole("link", { name: organization }));
  await hands.press(page.getByRole("button", { name: "Approve…" }));
  await hands.press(page.getByRole("button", { name: "Approve and send" }));
  await page.getByText(`${organization} is approved.`).waitFor();
  await page.getByRole("button", { name: "Resend registration…" }).waitFor();
}

/** `link`: of the mail. */
export async function register({ page, hands }: Visitor, link: string, name: string): Promise<void> {
  await page.goto(link);
  await hands.write(page.getByLabel("Your name"), name);
  await hands.write(page.getByLabel("Password", { exact: true }), GOOD_PASSWORD);
  await hands.press(page.getByRole("button", { name: "Make my account" }));
  await page.getByRole("heading", { name: "Your account is ready" }).waitFor();
  await hands.press(page.getByRole("link", { name: "Sign in" }));
}

/** Answers with the key. */
export async function createKey({ page, hands }: Visitor, name: string): Promise<string> {
  await hands.press(page.getByRole("link", { name: "Integrations" }));
  await page.getByRole("heading", { name: "No API key yet" }).waitFor();
  await hands.press(page.getByRole("button", { name: "Create API key" }).first());
  const dialog = page.getByRole("dialog");
  await hands.write(dialog.getByLabel("Name"), name);
  await hands.press(dialog.getByRole("button", { name: "Create API key" }));
  const key = await dialog.getByText(/^wmk_/).innerText();
  await hands.press(dialog.getByRole("button", { name: "I have kept it" }));
  await page.getByRole("row", { name }).waitFor();
  expect(await page.locator("body").innerText(), "the key is shown once").not.toContain(key);
  return key;
}

/** Answers with its secret, on the page of the endpoint. */
export async function createEndpoint({ page, hands }: Visitor, url: string): Promise<string> {
  await hands.press(page.getByRole("link", { name: "Endpoints" }));
  await page.getByRole("heading", { name: "No endpoint yet" }).waitFor();
  await hands.press(page.getByRole("button", { name: "Create endpoint" }).first());
  const dialog = page.getByRole("dialog");
  await hands.write(dialog.getByLabel("URL"), url);
  await hands.press(dialog.getByRole("button", { name: "Create endpoint" }));
  const secret = await dialog.getByText(/^whsec_/).innerText();
  await hands.press(dialog.getByRole("button", { name: "Go to the endpoint" }));
  await page.getByRole("heading", { level: 1, name: url }).waitFor();
  return secret;
}

/** The receiver's answer is shown. */
export async function sendTestEvent({ page, hands }: Visitor, answer: string): Promise<void> {
  await hands.press(page.getByRole("button", { name: "Send test event" }));
  const shown = page.getByRole("region", { name: "Test event" });
  await shown.getByText(answer).waitFor();
}

export async function changeStatus(
  { page, hands }: Visitor,
  markingNumber: string,
  status: string,
): Promise<void> {
  await hands.press(page.getByRole("link", { name: "Jobs", exact: true }));
  await hands.press(page.getByRole("link", { name: markingNumber }));
  await hands.press(page.getByRole("button", { name: "Edit" }));
  const dialog = page.getByRole("dialog");
  await hands.choose(dialog.getByRole("combobox", { name: "Status" }), status);
  await hands.press(dialog.getByRole("button", { name: "Save" }));
  await page.getByText(`${markingNumber} is saved.`).waitFor();
  await page.getByText(`Status changed: ${status}`).waitFor();
}

/** It stands in the log, once it has arrived. */
export async function seeDelivery(
  { page, hands }: Visitor,
  event: string,
  markingNumber: string,
): Promise<void> {
  await hands.press(page.getByRole("link", { name: "Integrations" }));
  await hands.press(page.getByRole("link", { name: "Deliveries" }));
  const row = page.getByRole("row").filter({ hasText: event }).filter({ hasText: markingNumber });
  await expectToSee(row.getByText("Delivered").first());
}
