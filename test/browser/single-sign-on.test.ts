/** Single sign-on in the console: connecting a provider, signing in with it, and confirming the identity. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { sql } from "../../src/core/postgres/sql.ts";
import { CLIENT, startOidcProvider } from "../support/accounts/identity-provider.ts";
import { ACCOUNT_ENV, extractLinkToken, waitForMail } from "../support/accounts/mails.ts";
import { SET } from "../support/accounts/sso.fixture.ts";
import { startAppInstance } from "../support/app/app-instance.ts";
import { findPageProblems } from "../support/browser/axe.ts";
import { createAgent } from "../support/browser/console.fixture.ts";
import { startConsole } from "../support/browser/shared-console.ts";
import { expectVisible, openTab, visit } from "../support/browser/tabs.ts";

const app = await startConsole();
const idp = await startOidcProvider();
afterAll(() => idp[Symbol.asyncDispose]());

it("connects a provider, signs in with it, and confirms the identity there", async () => {
  const { agent, user: owner } = await createAgent(app);
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
  await page.getByRole("button", { name: "Continue with single sign-on" }).click();
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
  // It ends this session too.
  await expectVisible(page.getByRole("heading", { name: "Sign in" }));
});

describe("an invitation", () => {
  let url: string;
  let email: string;
  beforeAll(async () => {
    const { agent, user: owner } = await createAgent(app);
    const domain = `${agent.id.slice(-12)}.example`;
    email = `new@${domain}`;
    const connection = { issuer: idp.url, clientId: CLIENT.id, clientSecret: CLIENT.secret, domain };
    idp.serve([`${app.url}/auth/callback/${agent.id}`]);
    await owner.queryData(SET, { input: connection });
    await app.database.query(
      sql`update sso_connection set verified_at = now() where organization_id = ${agent.id}::uuid`,
    );
    await owner.queryData(
      `mutation ($email: String!) { inviteMember(input: { email: $email, role: VIEWER }) { userErrors { message } } }`,
      { email },
    );
    const mail = await waitForMail(app, email, "invitation");
    url = `/invitation#token=${extractLinkToken(mail, "invitation")}`;
  });
  const button = { name: "Continue with single sign-on" };

  it("has no password field with SSO_ONLY", async () => {
    const client = { OIDC_ISSUER: idp.url, OIDC_CLIENT_ID: CLIENT.id, OIDC_CLIENT_SECRET: CLIENT.secret };
    const env = { ...ACCOUNT_ENV, ...client, SSO_ONLY: "all", WEBHOOK_ALLOW_PRIVATE: "on" };
    await using strict = await startAppInstance(app.databaseUrl, env);
    const { page } = await visit(strict, url);
    await expectVisible(page.getByRole("button", button));
    expect(await page.getByLabel("Your name").count()).toBe(0);
    expect(await findPageProblems(page)).toEqual([]);
  });

  it("is accepted with single sign-on as the invited user, and not as another", async () => {
    const { page } = await openTab(app);
    idp.person = { sub: "other", email: `other.${email}`, email_verified: true };
    await page.goto(url);
    await expectVisible(page.getByRole("button", { name: "Create account" }));
    expect(await findPageProblems(page)).toEqual([]);
    await page.getByRole("button", button).click();
    await expectVisible(page.getByText(/^The invitation is for another e-mail address/));
    await page.context().clearCookies();
    idp.person = { sub: "invited", email, email_verified: true };
    await page.goto(url);
    await page.getByRole("button", button).click();
    await expectVisible(page.getByRole("navigation").first());
    expect(new URL(page.url()).pathname).toBe("/");
  });
});

it("explains why single sign-on failed, and no other code of a link", async () => {
  const { page } = await visit(app, "/sign-in?error=sso_cancelled");
  await expectVisible(page.getByText("You cancelled the sign-in at your identity provider."));
  await page.goto("/sign-in?error=Call%200800%20for%20help");
  await expectVisible(page.getByText("Your identity provider sent an answer that we can’t accept."));
  expect(await page.getByText("0800").count()).toBe(0);
});
