/** "Confirm it's you": the dialog for actions that need the password again, by keyboard alone. */
import type { Locator, Page } from "playwright-core";
import { expect, it } from "vitest";
import { sql } from "../../src/core/postgres/sql.ts";
import {
  createTestUser,
  signIn,
  enableTwoFactor,
  type TestUser,
} from "../support/accounts/session-client.ts";
import { findPageProblems } from "../support/browser/axe.ts";
import { startConsole } from "../support/browser/shared-console.ts";
import { browserCookies, expectFocus, expectVisible, openTab, visit } from "../support/browser/tabs.ts";
import { createKeyboardUser, type PageUser } from "../support/browser/page-user.ts";

const app = await startConsole();
const agent = await app.createOrganization("agent");

interface Stale {
  page: Page;
  user: PageUser;
  owner: TestUser;
  dialog: Locator;
}

/** An owner who signed in more than ten minutes ago, at a page of the console. */
async function staleOwner(path: string): Promise<Stale> {
  const owner = await createTestUser(app, { organizationId: agent.id, role: "owner" });
  const { page } = await openTab(app, { user: owner });
  await expire(owner);
  await page.goto(path);
  const dialog = page.getByRole("dialog", { name: "Confirm it’s you" });
  return { page, user: createKeyboardUser(page), owner, dialog };
}

async function expire({ id }: TestUser): Promise<void> {
  await app.database.query(sql`
    update user_session set authenticated_at = now() - interval '11 minutes' where user_id = ${id}::uuid`);
}

// evidence: reauthentication-console-prompt
it("asks for the password before a key is created, and repeats the request", async () => {
  const { page, user, owner, dialog } = await staleOwner("/integrations/keys");
  await user.activate(page.getByRole("button", { name: "Create API key" }).first());
  const form = page.getByRole("dialog", { name: "Create API key" });
  await user.fill(form.getByLabel("Name"), "Warehouse sync");
  await user.activate(form.getByRole("button", { name: "Create API key" }));

  const password = dialog.getByLabel("Your password", { exact: true });
  await expectFocus(password);
  expect(await findPageProblems(page)).toEqual([]);
  await user.fill(password, "not my password");
  await page.keyboard.press("Enter");
  await expectVisible(dialog.getByText("This is not your password."));
  await user.fill(password, owner.password);
  await page.keyboard.press("Enter");
  await expectVisible(page.getByRole("dialog", { name: "Your new API key" }));
  expect(await dialog.count()).toBe(0);
});

it("keeps the action's dialog open with the focus on its button when cancelled by Escape", async () => {
  const { page, action, dialog } = await staleTwoFactor("New recovery codes", "Generate new codes");
  await action.press("Enter");
  await expectFocus(dialog.getByLabel("Your password", { exact: true }));
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  await expectVisible(page.getByText("Confirm your identity first"));
  await expectFocus(action);
});

it("accepts a recovery code, after which two-factor authentication is turned off", async () => {
  const { page, action, dialog, owner, recoveryCodes } = await staleTwoFactor("Turn off", "Turn off");
  await action.click();
  await dialog.getByLabel("Your password", { exact: true }).fill(owner.password);
  await dialog.getByRole("button", { name: "Use a recovery code" }).click();
  await dialog.getByLabel("Recovery code").fill(recoveryCodes[0] ?? "");
  expect(await findPageProblems(page)).toEqual([]);
  await dialog.getByRole("button", { name: "Confirm" }).click();
  await expectVisible(page.getByText("Two-factor authentication is off."));
});

it("signs in again over the page if the session ended, and keeps what was typed", async () => {
  const owner = await createTestUser(app, { organizationId: agent.id, role: "owner" });
  const { page } = await visit(app, "/integrations/keys", { user: owner }, /401 .*\/graphql/);
  // A request still in flight would ask the user again after the sign-in.
  await expectVisible(page.getByRole("row").nth(1));
  await page.getByRole("button", { name: "Create API key" }).first().click();
  const form = page.getByRole("dialog", { name: "Create API key" });
  await form.getByLabel("Name").fill("Night sync");
  await app.database.query(sql`delete from user_session where user_id = ${owner.id}::uuid`);
  await form.getByRole("button", { name: "Create API key" }).click();

  const dialog = page.getByRole("dialog", { name: "Your session has ended" });
  expect(await findPageProblems(page)).toEqual([]);
  await dialog.getByLabel("Your password", { exact: true }).fill(owner.password);
  await dialog.getByRole("button", { name: "Sign in" }).click();
  await expectVisible(page.getByRole("dialog", { name: "Your new API key" }));
});

/** An owner with two-factor who signed in more than ten minutes ago, before an action's button in its dialog. */
async function staleTwoFactor(opener: string, actionLabel: string) {
  const owner = await createTestUser(app, { organizationId: agent.id, role: "owner" });
  const session = await signIn(app, owner);
  const { recoveryCodes } = await enableTwoFactor(session, owner);
  await expire(owner);
  const { page, context } = await openTab(app);
  await context.addCookies(browserCookies(app, session.cookie));
  await page.goto("/security");
  await page.getByRole("button", { name: opener }).click();
  await page.getByRole("dialog").getByLabel("Your password", { exact: true }).fill(owner.password);
  const action = page.getByRole("dialog").getByRole("button", { name: actionLabel });
  return {
    page,
    owner,
    recoveryCodes,
    action,
    dialog: page.getByRole("dialog", { name: "Confirm it’s you" }),
  };
}
