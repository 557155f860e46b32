/** The dialogs that also revoke what a key created, or what a member leaves. */
import type { Browser, Locator, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { violationsOf } from "../support/axe.ts";
import { BROWSER_TIMEOUT_MS, expectToSee, openTab, PHONE, startBrowser } from "../support/browser.ts";
import { ACCOUNT_ENV } from "../support/account-mails.ts";
import { ask } from "../support/graphql.ts";
import { newPerson, type SignedIn } from "../support/graphql-person.ts";
import { startTestApp, type TestApp } from "../support/start-app.ts";

vi.setConfig({ testTimeout: BROWSER_TIMEOUT_MS, hookTimeout: BROWSER_TIMEOUT_MS });

const opened = new AsyncDisposableStack();
let browser: Browser;
let app: TestApp;

beforeAll(async () => {
  browser = opened.adopt(await startBrowser(), (one) => one.close());
  app = opened.use(await startTestApp({ ...ACCOUNT_ENV, LOG_LEVEL: "silent" }));
});
afterAll(() => opened.disposeAsync());

const CREATE = "mutation ($input: CreateApiKeyInput!) { createApiKey(input: $input) { secret } }";

/** An owner with the key "Till", which created the key "Till backup", and an invitation; and another owner. */
async function leavingOwner(): Promise<{ owner: SignedIn; leaving: SignedIn }> {
  const { id } = await app.partner("agent");
  const [owner, leaving] = [await newPerson(app, id), await newPerson(app, id)];
  const { createApiKey } = await leaving.ask(CREATE, { input: { name: "Till" } });
  await ask(app, CREATE, { key: createApiKey.secret, variables: { input: { name: "Till backup" } } });
  await leaving.ask(
    'mutation { inviteMember(input: { email: "friend@test.example" }) { userErrors { message } } }',
  );
  return { owner, leaving };
}

async function open(owner: SignedIn, path: string, row: string, item: RegExp) {
  const { page, context } = await openTab(browser, app, { person: owner });
  onTestFinished(() => context.close());
  await page.goto(path);
  await page.getByRole("button", { name: `Actions for ${row}`, exact: true }).click();
  await page.getByRole("menuitem", { name: item }).click();
  return { page, dialog: page.getByRole("dialog") };
}

async function goodKeysOf(owner: SignedIn): Promise<string[]> {
  const { apiKeys } = await owner.ask("{ apiKeys { name revokedAt } }");
  const keys = apiKeys as { name: string; revokedAt: string | null }[];
  return keys.filter(({ revokedAt }) => revokedAt === null).map(({ name }) => name);
}

/** No violations on a desktop in light, nor on a phone in dark colours. */
async function expectAccessible(page: Page): Promise<void> {
  expect(await violationsOf(page)).toEqual([]);
  const before = page.viewportSize();
  await page.setViewportSize(PHONE);
  await page.emulateMedia({ colorScheme: "dark" });
  await page.locator("html[data-mantine-color-scheme=dark]").waitFor();
  await expect.poll(() => page.evaluate<number>("document.getAnimations().length")).toBe(0);
  expect(await violationsOf(page)).toEqual([]);
  if (before) await page.setViewportSize(before);
}

async function confirm(dialog: Locator, action: string): Promise<void> {
  await dialog.getByRole("button", { name: action, exact: true }).click();
  await dialog.waitFor({ state: "hidden" });
}

describe("revoking a key", () => {
  it("lists the keys that it created and keeps them by default", async () => {
    const { owner } = await leavingOwner();
    const { page, dialog } = await open(owner, "/integrations/keys", "Till", /^Revoke/);
    await expectToSee(dialog.getByText("Till backup"));
    expect(await dialog.getByLabel("Also revoke this key").isChecked()).toBe(false);
    await expectAccessible(page);
    await confirm(dialog, "Revoke key");
    expect(await goodKeysOf(owner)).toContain("Till backup");
  });

  it("also revokes them on request", async () => {
    const { owner } = await leavingOwner();
    const { page, dialog } = await open(owner, "/integrations/keys", "Till", /^Revoke/);
    await dialog.getByLabel("Also revoke this key").check();
    await confirm(dialog, "Revoke key");
    await expectToSee(page.getByText("Till and 1 key it created are revoked."));
    expect(await goodKeysOf(owner)).not.toContain("Till backup");
  });
});

describe("removing an owner", () => {
  it("lists their keys and invitations, and revokes the invitations by default", async () => {
    const { owner, leaving } = await leavingOwner();
    const { page, dialog } = await open(owner, "/members", leaving.email, /^Remove/);
    await expectToSee(dialog.getByText("Till backup"));
    await expectToSee(dialog.getByText("friend@test.example"));
    expect(await dialog.getByLabel("Revoke these 2 keys").isChecked()).toBe(false);
    expect(await dialog.getByLabel("Revoke this invitation").isChecked()).toBe(true);
    await expectAccessible(page);
    await confirm(dialog, "Remove");
    expect(await goodKeysOf(owner)).toEqual(expect.arrayContaining(["Till", "Till backup"]));
    expect((await owner.ask("{ invitations { id } }")).invitations).toEqual([]);
  });

  it("also revokes their keys on request", async () => {
    const { owner, leaving } = await leavingOwner();
    const { dialog } = await open(owner, "/members", leaving.email, /^Remove/);
    await dialog.getByLabel("Revoke these 2 keys").check();
    await dialog.getByLabel("Revoke this invitation").uncheck();
    await confirm(dialog, "Remove");
    const left = await goodKeysOf(owner);
    expect(left).not.toContain("Till");
    expect(left).not.toContain("Till backup");
    expect((await owner.ask("{ invitations { id } }")).invitations).toHaveLength(1);
  });
});
