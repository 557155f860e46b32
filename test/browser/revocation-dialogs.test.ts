/** The dialogs that also revoke what a key created, or what a member leaves. */
import type { Locator, Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { emulateScheme, findPageProblems } from "../support/browser/axe.ts";
import { createAgent } from "../support/browser/console.fixture.ts";
import { startConsole } from "../support/browser/shared-console.ts";
import { expectVisible, visit, PHONE } from "../support/browser/tabs.ts";
import { queryData } from "../support/graphql/client.ts";
import { createSignedInUser, type SignedInTestUser } from "../support/accounts/signed-in-user.ts";

const app = await startConsole();

const CREATE = "mutation ($input: CreateApiKeyInput!) { createApiKey(input: $input) { secret } }";

/** An owner with the key "Till", which created the key "Till backup", and an invitation; and another owner. */
async function leavingOwner(): Promise<{ owner: SignedInTestUser; leaving: SignedInTestUser }> {
  const { agent, user: owner } = await createAgent(app);
  const leaving = await createSignedInUser(app, agent.id);
  const { createApiKey } = await leaving.queryData(CREATE, {
    input: { name: "Till", scopes: ["JOBS_READ", "KEYS_MANAGE"] },
  });
  await queryData(app, CREATE, { key: createApiKey.secret, variables: { input: { name: "Till backup" } } });
  await leaving.queryData(
    'mutation { inviteMember(input: { email: "friend@test.example" }) { userErrors { message } } }',
  );
  return { owner, leaving };
}

async function open(owner: SignedInTestUser, path: string, row: string, item: RegExp) {
  const { page } = await visit(app, path, { user: owner });
  await page.getByRole("button", { name: `Actions for ${row}`, exact: true }).click();
  await page.getByRole("menuitem", { name: item }).click();
  return { page, dialog: page.getByRole("dialog") };
}

async function activeKeysOf(owner: SignedInTestUser): Promise<string[]> {
  const { apiKeys } = await owner.queryData("{ apiKeys { name revokedAt } }");
  const keys = apiKeys as { name: string; revokedAt: string | null }[];
  return keys.filter(({ revokedAt }) => revokedAt === null).map(({ name }) => name);
}

/** No violations on a desktop in light colours, nor bad contrast on a phone in dark ones. */
async function expectAccessible(page: Page): Promise<void> {
  expect(await findPageProblems(page)).toEqual([]);
  await page.setViewportSize(PHONE);
  await emulateScheme(page, "dark");
  expect(await findPageProblems(page, { colorsAlone: true })).toEqual([]);
}

async function confirm(dialog: Locator, action: string): Promise<void> {
  await dialog.getByRole("button", { name: action, exact: true }).click();
  await dialog.waitFor({ state: "hidden" });
}

it("revoking a key lists the keys that it created, and revokes them only on request", async () => {
  const { owner } = await leavingOwner();
  const { page, dialog } = await open(owner, "/integrations/keys", "Till", /^Revoke/);
  await expectVisible(dialog.getByText("Till backup"));
  const also = dialog.getByLabel("Also revoke this key");
  await expect.poll(() => also.isChecked()).toBe(false);
  await expectAccessible(page);
  await also.check();
  await confirm(dialog, "Revoke key");
  await expectVisible(page.getByText("Till and 1 key it created revoked."));
  expect(await activeKeysOf(owner)).not.toContain("Till backup");
});

describe("removing an owner", () => {
  it("lists their keys and invitations, and revokes the invitations by default", async () => {
    const { owner, leaving } = await leavingOwner();
    const { page, dialog } = await open(owner, "/members", leaving.email, /^Remove/);
    await expectVisible(dialog.getByText("Till backup"));
    await expectVisible(dialog.getByText("friend@test.example"));
    await expectAccessible(page);
    await confirm(dialog, "Remove");
    expect(await activeKeysOf(owner)).toEqual(expect.arrayContaining(["Till", "Till backup"]));
    expect((await owner.queryData("{ invitations { id } }")).invitations).toEqual([]);
  });

  it("revokes their keys, and keeps their invitations, on request", async () => {
    const { owner, leaving } = await leavingOwner();
    const { dialog } = await open(owner, "/members", leaving.email, /^Remove/);
    await dialog.getByLabel("Revoke these 2 keys").check();
    await dialog.getByLabel("Revoke this invitation").uncheck();
    await confirm(dialog, "Remove");
    const left = await activeKeysOf(owner);
    expect(left.filter((name) => name.startsWith("Till"))).toEqual([]);
    expect((await owner.queryData("{ invitations { id } }")).invitations).toHaveLength(1);
  });
});
