/** How users get back in: with a new password, with a recovery code, and after a suspension. */
import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { toTypedId } from "../../src/core/ids.ts";
import { NEW_PASSWORD } from "../support/accounts/accounts.fixture.ts";
import { extractLinkToken, waitForMail } from "../support/accounts/mails.ts";
import { createTestUser, enableTwoFactor, signIn } from "../support/accounts/session-client.ts";
import { findPageProblems } from "../support/browser/axe.ts";
import { createAgent } from "../support/browser/console.fixture.ts";
import { startConsole } from "../support/browser/shared-console.ts";
import { enterPassword, expectVisible, openTab } from "../support/browser/tabs.ts";

const app = await startConsole();

async function newMember() {
  const { agent, user: member } = await createAgent(app);
  const { page } = await openTab(app);
  return { agent, member, page };
}

const dashboard = (page: Page) => page.getByRole("heading", { level: 1, name: "Dashboard" });

it("a forgotten password is replaced with the mailed link, which works once", async () => {
  const { member, page } = await newMember();
  await page.goto("/sign-in");
  await page.getByRole("link", { name: "Forgotten your password?" }).click();
  // The sign-in page has a field of this name too.
  await expectVisible(page.getByRole("heading", { name: "Reset your password" }));
  await page.getByLabel("E-mail").fill(member.email);
  await page.getByRole("button", { name: "Send link" }).click();
  await expectVisible(page.getByRole("heading", { name: "Check your e-mail" }));

  const mail = await waitForMail(app, member.email, "password_reset");
  const link = `/reset-password#token=${extractLinkToken(mail, "reset-password")}`;
  await page.goto(link);
  await page.getByLabel("New password", { exact: true }).fill(NEW_PASSWORD);
  expect(await findPageProblems(page)).toEqual([]);
  await page.getByRole("button", { name: "Change password" }).click();
  await expectVisible(page.getByText("You have been signed out everywhere."));
  await page.getByRole("link", { name: "Sign in" }).click();
  await expectVisible(page.getByRole("heading", { name: "Sign in" }));
  await enterPassword(page, member);
  await expectVisible(page.getByText("The e-mail address or password is wrong"));
  await enterPassword(page, { ...member, password: NEW_PASSWORD });
  await expectVisible(dashboard(page));

  const again = (await openTab(app)).page;
  await again.goto(link);
  await expectVisible(again.getByText("Links to reset a password are valid for one hour."));
  await expectVisible(again.getByRole("link", { name: "Request a new link" }));
});

it("a recovery code signs in once in place of a code from the authenticator app", async () => {
  const { member, page } = await newMember();
  const { recoveryCodes } = await enableTwoFactor(await signIn(app, member), member);
  const enterCode = async (on: Page): Promise<void> => {
    await on.goto("/jobs");
    await enterPassword(on, member);
    await on.getByRole("button", { name: "Use a recovery code" }).click();
    await on.getByLabel("Recovery code").fill(recoveryCodes[0] ?? "");
    await on.getByRole("button", { name: "Sign in", exact: true }).click();
  };
  await enterCode(page);
  await expectVisible(page.getByRole("heading", { level: 1, name: "Jobs" }));

  const again = (await openTab(app)).page;
  await enterCode(again);
  await expectVisible(again.getByText("That code is wrong or was already used"));
});

it("a member of a suspended organisation reads why at once, and signs in again after it is restored", async () => {
  const { agent, member, page } = await newMember();
  await page.goto("/jobs");
  await enterPassword(page, member);
  await expectVisible(page.getByRole("heading", { level: 1, name: "Jobs" }));
  const operator = await createTestUser(app, { organizationId: null, role: "operator" });
  const { page: desk } = await openTab(app, { user: operator });
  await desk.goto(`/operator/organizations/${toTypedId("org", agent.id)}`);
  await desk.getByRole("button", { name: "Suspend…" }).click();
  await desk.getByLabel("Reason").fill("Unpaid");
  await desk.getByRole("button", { name: "Suspend organisation" }).click();
  await expectVisible(desk.getByText(`${agent.name} suspended.`));

  const why = page.getByText("Your organisation is suspended. Contact the operator of this service.");
  await expectVisible(why);
  await page.reload();
  await expectVisible(why);
  await enterPassword(page, member);
  await expectVisible(page.getByText("so you can’t sign in"));

  await desk.getByRole("button", { name: "Restore…" }).click();
  await desk.getByRole("button", { name: "Restore organisation" }).click();
  await expectVisible(desk.getByText(`${agent.name} restored.`));
  await page.reload();
  await why.waitFor({ state: "detached" });
  await enterPassword(page, member);
  await expectVisible(page.getByRole("heading", { level: 1, name: "Jobs" }));
});

it("a user whose session ended reads so on the sign-in page, and comes back to the page", async () => {
  const { member, page } = await newMember();
  await page.goto("/jobs");
  await enterPassword(page, member);
  await expectVisible(page.getByRole("heading", { level: 1, name: "Jobs" }));
  await (await signIn(app, member)).send("DELETE", "/auth/sessions");
  await expectVisible(page.getByText("Your session has ended. Sign in again to continue."));
  expect(await findPageProblems(page)).toEqual([]);
  await enterPassword(page, member);
  await expectVisible(page.getByRole("heading", { level: 1, name: "Jobs" }));
});
