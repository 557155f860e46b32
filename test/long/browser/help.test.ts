/** The help menu of the console, and its links. */
import { beforeAll, describe, expect, it, vi } from "vitest";
import { createTestUser, type TestUser } from "../../support/accounts/session-client.ts";
import type { SharedApp } from "../../support/app/shared-app.ts";
import { emulateScheme, findPageProblems } from "../../support/browser/axe.ts";
import { createKeyboardUser } from "../../support/browser/page-user.ts";
import { startConsole } from "../../support/browser/shared-console.ts";
import {
  BROWSER_START_TIMEOUT_MS,
  BROWSER_TIMEOUT_MS,
  DESKTOP,
  expectVisible,
  openTab,
  PHONE,
  type Tab,
} from "../../support/browser/tabs.ts";

vi.setConfig({ testTimeout: BROWSER_TIMEOUT_MS, hookTimeout: BROWSER_START_TIMEOUT_MS });

let app: SharedApp;
let owner: TestUser;
let operator: TestUser;

beforeAll(async () => {
  app = await startConsole();
  const { id } = await app.createOrganization("agent");
  owner = await createTestUser(app, { organizationId: id, role: "owner" });
  operator = await createTestUser(app, { organizationId: null, role: "operator" });
});

async function open(path: string, user: TestUser | null, viewport = DESKTOP): Promise<Tab> {
  const tab = await openTab(app, { ...(user && { user }), viewport });
  await tab.page.goto(path);
  return tab;
}

const SHARED = ["Quickstart", "Error codes", "API reference", "GraphQL explorer"];

describe("the help menu", () => {
  it.each([
    ["an owner", "/integrations/endpoints", "Your first webhook", SHARED],
    ["an operator", "/operator/import", "Importing jobs", SHARED.toSpliced(2, 0, "Runbooks")],
  ])("opens by keyboard and lists pages for %s at %s", async (role, path, about, others) => {
    const { page, pageErrors } = await open(path, role === "an owner" ? owner : operator);
    const button = page.getByRole("button", { name: "Help" });
    await createKeyboardUser(page).activate(button);
    const items = page.getByRole("menuitem");
    await expectVisible(items.first());
    expect(await items.allInnerTexts()).toEqual([about, ...others]);
    await page.keyboard.press("Escape");
    await items.first().waitFor({ state: "hidden" });
    await button.and(page.locator(":focus")).waitFor();
    expect(pageErrors).toEqual([]);
  });

  it("opens each page of this server in a new tab", async () => {
    const { page } = await open("/integrations/endpoints", owner);
    await page.getByRole("button", { name: "Help" }).click();
    const items = page.getByRole("menuitem");
    await expectVisible(items.first());
    const links = await items.evaluateAll((found) =>
      found.map((item) => ({ href: (item as HTMLAnchorElement).href, target: item.getAttribute("target") })),
    );
    const answers = links.map(async ({ href, target }) => {
      const { status } = await fetch(href);
      return { href, target, isOwn: new URL(href).origin === app.url, status };
    });
    expect(await Promise.all(answers)).toEqual(
      links.map(({ href }) => ({ href, target: "_blank", isOwn: true, status: 200 })),
    );
    const opening = page.waitForEvent("popup");
    await items.first().click();
    await expectVisible(
      (await opening).getByRole("main").getByRole("heading", { name: "Your first webhook" }),
    );
  });

  it.each([
    ["light", DESKTOP],
    ["dark", PHONE],
  ] as const)("has no axe violations: %s, %j", async (colorScheme, viewport) => {
    const { page, pageErrors } = await open("/jobs", owner, viewport);
    await emulateScheme(page, colorScheme);
    await page.getByRole("button", { name: "Help" }).click();
    await expectVisible(page.getByRole("menuitem").first());
    expect([...(await findPageProblems(page)), ...pageErrors]).toEqual([]);
  });
});

it("links the guide from the sign-in page", async () => {
  const { page } = await open("/sign-in", null);
  const opening = page.waitForEvent("popup");
  await page.getByRole("link", { name: /^Guide: Getting access/ }).click();
  await expectVisible((await opening).getByRole("main").getByRole("heading", { name: "Getting access" }));
});
