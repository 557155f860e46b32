/** Passkeys in the console, with Chromium's virtual authenticator. */
import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { sql } from "../../src/core/postgres/sql.ts";
import { createTestUser, type TestUser } from "../support/accounts/session-client.ts";
import { ACCOUNT_ENV } from "../support/accounts/mails.ts";
import { startAppInstance } from "../support/app/app-instance.ts";
import { findPageProblems } from "../support/browser/axe.ts";
import { startConsole } from "../support/browser/shared-console.ts";
import { enterPassword, expectVisible, openTab } from "../support/browser/tabs.ts";

const app = await startConsole();
const agent = await app.createOrganization("agent");
/** Browsers allow no passkeys for an IP address. */
const localhost = (text: string): string => text.replace("127.0.0.1", "localhost");
const url = localhost(app.url);

/** Gives the page a device that stores passkeys and knows its user. */
async function addAuthenticator(page: Page) {
  const cdp = await page.context().newCDPSession(page);
  await cdp.send("WebAuthn.enable");
  const { authenticatorId } = await cdp.send("WebAuthn.addVirtualAuthenticator", {
    options: {
      protocol: "ctap2",
      transport: "internal",
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
  return { cdp, authenticatorId };
}

async function openSecurityPage(user: TestUser, at = url) {
  const { page, context } = await openTab(app);
  const authenticator = await addAuthenticator(page);
  await page.goto(`${at}/sign-in?next=%2Fsecurity`);
  await enterPassword(page, user);
  const passkeys = page.getByRole("region", { name: "Passkeys" });
  return { page, context, passkeys, ...authenticator };
}

const newOwner = () => createTestUser(app, { organizationId: agent.id, role: "owner" });

async function addPasskey(page: Page, opener = "Add a passkey"): Promise<void> {
  await page.getByRole("button", { name: opener }).click();
  const dialog = page.getByRole("dialog", { name: "Add a passkey" });
  await dialog.getByLabel("Name").fill("Work laptop");
  await dialog.getByRole("button", { name: "Continue" }).click();
}

async function signInWithPasskey(page: Page): Promise<void> {
  await page.context().clearCookies();
  await page.goto(`${url}/sign-in?next=%2Fsecurity`);
  await page.getByRole("button", { name: "Sign in with a passkey" }).click();
}

it("adds a passkey, signs in with it, renames it and removes it", async () => {
  const { page, passkeys } = await openSecurityPage(await newOwner());
  await expectVisible(passkeys.getByText("You have no passkeys."));
  await addPasskey(page);
  await expectVisible(passkeys.getByText("Work laptop"));
  await expectVisible(passkeys.getByText("Never used"));
  expect(await findPageProblems(page)).toEqual([]);

  await signInWithPasskey(page);
  await expectVisible(passkeys.getByText("Last used"));

  await passkeys.getByRole("button", { name: "Actions for Work laptop" }).click();
  await page.getByRole("menuitem", { name: "Rename" }).click();
  const rename = page.getByRole("dialog", { name: "Rename passkey" });
  await rename.getByLabel("Name").fill("Old laptop");
  await rename.getByRole("button", { name: "Rename" }).click();

  await passkeys.getByRole("button", { name: "Actions for Old laptop" }).click();
  await page.getByRole("menuitem", { name: "Remove" }).click();
  const remove = page.getByRole("dialog", { name: "Remove Old laptop?" });
  await remove.getByRole("button", { name: "Remove" }).click();
  await expectVisible(passkeys.getByText("You have no passkeys."));

  await signInWithPasskey(page);
  await expectVisible(page.getByText("This passkey is not accepted."));
  expect(await findPageProblems(page)).toEqual([]);
});

it("says so if the user cancels, or the device already has a passkey", async () => {
  const { page, passkeys, cdp, authenticatorId } = await openSecurityPage(await newOwner());
  await cdp.send("WebAuthn.setUserVerified", { authenticatorId, isUserVerified: false });
  await addPasskey(page);
  const dialog = page.getByRole("dialog", { name: "Add a passkey" });
  await expectVisible(dialog.getByText("You cancelled, or it took too long."));
  await cdp.send("WebAuthn.setUserVerified", { authenticatorId, isUserVerified: true });
  await dialog.getByRole("button", { name: "Continue" }).click();
  await expectVisible(passkeys.getByText("Work laptop"));
  await addPasskey(page);
  await expectVisible(dialog.getByText("This device already has a passkey for your account."));
});

it("confirms the user's identity with a passkey", async () => {
  const owner = await newOwner();
  const { page, passkeys } = await openSecurityPage(owner);
  await addPasskey(page);
  await expectVisible(passkeys.getByText("Work laptop"));
  await app.database.query(sql`
    update user_session set authenticated_at = now() - interval '11 minutes' where user_id = ${owner.id}::uuid`);
  await passkeys.getByRole("button", { name: "Actions for Work laptop" }).click();
  await page.getByRole("menuitem", { name: "Remove" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Remove" }).click();
  const confirm = page.getByRole("dialog", { name: "Confirm it’s you" });
  await expectVisible(confirm.getByRole("button", { name: "Use a passkey" }));
  expect(await findPageProblems(page)).toEqual([]);
  await confirm.getByRole("button", { name: "Use a passkey" }).click();
  await expectVisible(passkeys.getByText("You have no passkeys."));
});

it("lets a user who must use two-factor authentication add a passkey instead, and asks for it after the password", async () => {
  const env = { ...ACCOUNT_ENV, LOG_LEVEL: "silent", REQUIRE_TWO_FACTOR: "all" };
  await using strict = await startAppInstance(app.databaseUrl, env);
  const owner = await newOwner();
  const { page, context, passkeys } = await openSecurityPage(owner, localhost(strict.url));
  await addPasskey(page, "Add a passkey instead");
  await expectVisible(passkeys.getByText("Work laptop"));

  await context.clearCookies();
  await page.goto(`${localhost(strict.url)}/sign-in?next=%2Fsecurity`);
  await enterPassword(page, owner);
  await page.getByRole("button", { name: "Continue with your passkey" }).click();
  await expectVisible(passkeys.getByText("Work laptop"));
});

it("offers no passkeys in a browser without WebAuthn", async () => {
  const owner = await newOwner();
  const { page, context, passkeys } = await openSecurityPage(owner);
  await expectVisible(passkeys.getByText("You have no passkeys."));
  await context.addInitScript("delete globalThis.PublicKeyCredential");
  await page.reload();
  await expectVisible(passkeys.getByText("This browser can’t use passkeys."));
  await context.clearCookies();
  await page.goto(`${url}/sign-in`);
  await expectVisible(page.getByRole("button", { name: "Sign in", exact: true }));
  expect(await page.getByRole("button", { name: "Sign in with a passkey" }).count()).toBe(0);
  // Nothing else is offered either.
  expect(await page.getByRole("separator").count()).toBe(0);
});
