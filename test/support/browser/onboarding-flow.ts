/** The steps from the account request to the first changed job and its webhook, in the console. */
import type { Page } from "playwright-core";
import { expect } from "vitest";
import { VALID_PASSWORD } from "../accounts/session-client.ts";
import { eventually } from "../eventually.ts";
import type { TestSmtpServer } from "../smtp-server.ts";
import { expectVisible } from "./tabs.ts";
import type { PageUser } from "./page-user.ts";

/** A page and the user who operates it. */
export interface ConsoleVisitor {
  readonly page: Page;
  readonly user: PageUser;
}

export async function requestAccount(
  { page, user }: ConsoleVisitor,
  email: string,
  organization: string,
): Promise<void> {
  await page.goto("/");
  await user.activate(page.getByRole("link", { name: "Request one" }));
  await user.fill(page.getByLabel("Work e-mail"), email);
  await user.fill(page.getByLabel("Organisation", { exact: true }), organization);
  await user.check(page.getByRole("radio", { name: "Contractor" }));
  await user.activate(page.getByRole("button", { name: "Send request" }));
  await page.getByRole("heading", { name: "Request sent" }).waitFor();
}

export async function signInByForm(
  { page, user }: ConsoleVisitor,
  { email, password }: { email: string; password: string },
): Promise<void> {
  await user.fill(page.getByLabel("E-mail"), email);
  await user.fill(page.getByLabel("Password", { exact: true }), password);
  await user.activate(page.getByRole("button", { name: "Sign in", exact: true }));
  await page.getByRole("heading", { level: 1, name: "Dashboard" }).waitFor();
}

export async function approveRequest({ page, user }: ConsoleVisitor, organization: string): Promise<void> {
  await user.activate(page.getByRole("link", { name: "Requests" }));
  await user.activate(page.getByRole("link", { name: organization }));
  await user.activate(page.getByRole("button", { name: "Approve…" }));
  await user.activate(page.getByRole("button", { name: "Approve and send" }));
  await page.getByText(`${organization} approved.`).waitFor();
  await page.getByRole("button", { name: "Resend registration link…" }).waitFor();
}

/** Returns the link of the registration mail. */
export async function registrationLink(mails: TestSmtpServer, email: string): Promise<string> {
  return await eventually(() => {
    const texts = mails.received
      .filter(({ recipients }) => recipients.includes(email))
      .map(({ text }) => text ?? "");
    const [link] = /http:\S+\/register#token=[\w-]+/.exec(texts.join("\n")) ?? [];
    if (link === undefined) throw new Error(`No link was sent to ${email}`);
    return link;
  });
}

/** `link` comes from the registration mail. */
export async function registerAccount(
  { page, user }: ConsoleVisitor,
  link: string,
  name: string,
): Promise<void> {
  await page.goto(link);
  await user.fill(page.getByLabel("Your name"), name);
  await user.fill(page.getByLabel("Password", { exact: true }), VALID_PASSWORD);
  await user.activate(page.getByRole("button", { name: "Create account" }));
  await page.getByRole("heading", { name: "Your account is ready" }).waitFor();
  await user.activate(page.getByRole("link", { name: "Sign in" }));
}

/** Creates an API key and returns it. A test key may also manage webhooks. */
export async function createKey(
  { page, user }: ConsoleVisitor,
  name: string,
  { test = false } = {},
): Promise<string> {
  await user.activate(page.getByRole("link", { name: "Integrations" }));
  await page.getByRole("heading", { name: "No API keys yet" }).waitFor();
  await user.activate(page.getByRole("button", { name: "Create API key" }).first());
  const dialog = page.getByRole("dialog");
  await user.fill(dialog.getByLabel("Name"), name);
  if (test) {
    await user.check(dialog.getByLabel("Test key"));
    await user.check(dialog.getByLabel("webhooks:manage"));
  }
  await user.activate(dialog.getByRole("button", { name: "Create API key" }));
  const key = await dialog.getByText(/^wmk_/).innerText();
  await user.activate(dialog.getByRole("button", { name: "I’ve saved it" }));
  // The dialog fades out after the list has the new row.
  await dialog.waitFor({ state: "detached" });
  await page.getByRole("row", { name }).waitFor();
  expect(await page.locator("body").innerText(), "the key is shown once").not.toContain(key);
  return key;
}

/** Creates an endpoint, returns its secret and stays on the endpoint's page. */
export async function createEndpoint({ page, user }: ConsoleVisitor, url: string): Promise<string> {
  await user.activate(page.getByRole("link", { name: "Endpoints" }));
  await page.getByRole("heading", { name: "No endpoints yet" }).waitFor();
  await user.activate(page.getByRole("button", { name: "Create endpoint" }).first());
  const dialog = page.getByRole("dialog");
  await user.fill(dialog.getByLabel("URL"), url);
  await user.activate(dialog.getByRole("button", { name: "Create endpoint" }));
  const secret = await dialog.getByText(/^whsec_/).innerText();
  await user.activate(dialog.getByRole("button", { name: "Go to endpoint" }));
  await page.getByRole("heading", { level: 1, name: url }).waitFor();
  return secret;
}

/** Sends a test event and waits until the receiver's response is shown. */
export async function sendTestEvent({ page, user }: ConsoleVisitor, response: string): Promise<void> {
  await user.activate(page.getByRole("button", { name: "Send test event" }));
  const result = page.getByRole("region", { name: "Test event" });
  await result.getByText(response).waitFor();
}

export async function changeStatus(
  { page, user }: ConsoleVisitor,
  markingNumber: string,
  status: string,
): Promise<void> {
  await user.activate(page.getByRole("link", { name: "Jobs", exact: true }));
  await user.activate(page.getByRole("link", { name: markingNumber }));
  await user.activate(page.getByRole("button", { name: "Edit" }));
  const dialog = page.getByRole("dialog");
  await user.selectOption(dialog.getByRole("combobox", { name: "Status" }), status);
  await user.activate(dialog.getByRole("button", { name: "Save" }));
  await page.getByText(`${markingNumber} saved.`).waitFor();
  await page.getByText(`Status changed: ${status}`).waitFor();
}

/** Expects the delivery in the delivery log. */
export async function expectDelivered(
  { page, user }: ConsoleVisitor,
  event: string,
  markingNumber: string,
): Promise<void> {
  await user.activate(page.getByRole("link", { name: "Integrations" }));
  await user.activate(page.getByRole("link", { name: "Deliveries" }));
  const row = page.getByRole("row").filter({ hasText: event }).filter({ hasText: markingNumber });
  await expectVisible(row.getByText("Delivered").first());
}
