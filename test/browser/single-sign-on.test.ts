/** Single sign-on in the console: connecting a provider, signing in with it, and confirming the identity. */
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { sql } from "../../src/core/postgres/sql.ts";
import { createTestUser } from "../support/accounts/session-client.ts";
import { CLIENT, startOidcProvider } from "../support/accounts/identity-provider.ts";
import type { SharedApp } from "../support/app/shared-app.ts";
import { startConsole } from "../support/browser/shared-console.ts";
import {
  BROWSER_START_TIMEOUT_MS,
  BROWSER_TIMEOUT_MS,
  expectVisible,
  openTab,
} from "../support/browser/tabs.ts";

vi.setConfig({ testTimeout: BROWSER_TIMEOUT_MS, hookTimeout: BROWSER_START_TIMEOUT_MS });

let app: SharedApp;
let idp: Awaited<ReturnType<typeof startOidcProvider>>;

beforeAll(async () => {
  app = await startConsole();
  idp = await startOidcProvider();
});
afterAll(() => idp[Symbol.asyncDispose]());

it("connects a provider, signs in with it, and confirms the identity there", async () => {
  const agent = await app.createOrganization("agent");
  const owner = await createTestUser(app, { organizationId: agent.id, role: "owner" });
  const domain = `${owner.id.slice(-12)}.example`;
  const email = `owner@${domain}`;
  await app.database.query(sql`update user_account set email = ${email} where id = ${owner.id}::uuid`);
  idp.serve([`${app.url}/auth/callback/${agent.id}`]);
  const { page, context } = await openTab(app, { user: { ...owner, email } });
  await page.goto("/members");
  const section = page.getByRole("region", { name: "Single sign-on" });
  await expectVisible(section.getByText(`${app.url}/auth/callback/${agent.id}`));
  await section.getByLabel("Issuer").fill(idp.url);
  await section.getByLabel("Client ID").fill(CLIENT.id);
  await section.getByLabel("Client secret").fill(CLIENT.secret);
  await section.getByLabel("E-mail domain").fill(domain);
  await section.getByRole("button", { name: "Connect" }).click();
  await expectVisible(section.getByText(/^waymark-verification=/));
  await section.getByRole("button", { name: "Verify domain" }).click();
  await expectVisible(section.getByText(/has no TXT record waymark-verification=/));
  await app.database.query(
    sql`update sso_connection set verified_at = now() where organization_id = ${agent.id}::uuid`,
  );

  idp.person = { sub: owner.id, email, email_verified: true };
  await context.clearCookies();
  await page.goto("/sign-in?next=%2Fmembers");
  await page.getByRole("button", { name: "Sign in with single sign-on" }).click();
  await page.getByLabel("E-mail address at your organisation").fill(email);
  await page.getByRole("button", { name: "Continue to your identity provider" }).click();
  await expectVisible(section.getByText(new RegExp(`^${domain} was verified`)));
  expect(new URL(page.url()).pathname).toBe("/members");

  await app.database.query(sql`
    update user_session set authenticated_at = now() - interval '11 minutes' where user_id = ${owner.id}::uuid`);
  const remove = async (): Promise<void> => {
    await section.getByRole("button", { name: "Remove single sign-on" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Remove" }).click();
  };
  await remove();
  const dialog = page.getByRole("dialog", { name: "Confirm it’s you" });
  await dialog.getByRole("button", { name: "Continue to your identity provider" }).click();
  await dialog.waitFor({ state: "detached" });
  await remove();
  await expectVisible(section.getByRole("button", { name: "Connect" }));
});

it("explains why single sign-on failed, and no other code of a link", async () => {
  const { page } = await openTab(app);
  await page.goto("/sign-in?error=sso_cancelled");
  await expectVisible(page.getByText("You cancelled the sign-in at your identity provider."));
  await page.goto("/sign-in?error=Call%200800%20for%20help");
  await expectVisible(page.getByText("Your identity provider sent an answer that we can’t accept."));
  expect(await page.getByText("0800").count()).toBe(0);
});
