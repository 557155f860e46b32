/** Closing dialogs: while busy, with unsaved input, with a secret, and where the focus goes. */
import type { Browser, Locator, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import {
  BROWSER_START_TIMEOUT_MS,
  BROWSER_TIMEOUT_MS,
  expectVisible,
  openTab,
  startBrowser,
} from "../support/browser/tabs.ts";
import { createConsoleFixture, type ConsoleFixture } from "../support/browser/console.fixture.ts";

vi.setConfig({ testTimeout: BROWSER_TIMEOUT_MS, hookTimeout: BROWSER_START_TIMEOUT_MS });

const opened = new AsyncDisposableStack();
let browser: Browser;
let fixture: ConsoleFixture;

beforeAll(async () => {
  browser = opened.adopt(await startBrowser(), (instance) => instance.close());
  fixture = opened.use(await createConsoleFixture());
  await fixture.owner.queryData(
    `mutation { createApiKey(input: { name: "Night sync", scopes: [JOBS_READ] }) { userErrors { message } } }`,
  );
});
afterAll(() => opened.disposeAsync());

interface Case {
  user: "owner" | "operator";
  path: (fixture: ConsoleFixture) => string;
  /** A mutation that is sent first. */
  before?: string;
  /** The buttons and menu items to press, in order. The first one opens the dialog or its menu. */
  open: readonly RegExp[];
  title: RegExp;
  /** Changes the input. Undefined if the dialog has no input. */
  fill?: (dialog: Locator, page: Page) => Promise<void>;
  /** The label of the button, and the operation that it sends. */
  action: string;
  request: string;
  /** What the response does: show a secret or close the dialog. */
  after: { secret: RegExp; done: string } | "closed";
}

let texts = 0;

/** Replaces # by a new number on each call, because an unchanged value would be no input. */
const write =
  (label: string, text: string): NonNullable<Case["fill"]> =>
  (dialog) =>
    dialog.getByLabel(label, { exact: true }).fill(text.replace("#", String((texts += 1))));

const endpointPath = ({ ids }: ConsoleFixture): string => `/integrations/endpoints/${ids.endpoint}`;

const cases: Record<string, Case> = {
  "create key": {
    user: "owner",
    path: () => "/integrations/keys",
    open: [/^Create API key$/],
    title: /^(Create API key|Your new API key)$/,
    fill: (dialog) => dialog.getByLabel("Name").fill("Warehouse sync"),
    action: "Create API key",
    request: "CreateApiKey",
    after: { secret: /^wmk_/, done: "I’ve saved it" },
  },
  "rotate key": {
    user: "owner",
    path: () => "/integrations/keys",
    open: [/^Actions for Night sync$/, /^Rotate/],
    title: /^(Rotate Night sync|Your new API key)$/,
    fill: (dialog) => dialog.getByRole("slider").press("ArrowLeft"),
    action: "Rotate key",
    request: "RotateApiKey",
    after: { secret: /^wmk_/, done: "I’ve saved it" },
  },
  "create endpoint": {
    user: "owner",
    path: () => "/integrations/endpoints",
    open: [/^Create endpoint$/],
    title: /^(Create endpoint|Your signing secret)$/,
    fill: (dialog) => dialog.getByLabel("URL").fill("http://127.0.0.1:9/never-sent-to"),
    action: "Create endpoint",
    request: "CreateWebhookEndpoint",
    after: { secret: /^whsec_/, done: "Go to endpoint" },
  },
  "rotate secret": {
    user: "owner",
    path: endpointPath,
    open: [/^Rotate…$/],
    title: /^(Rotate signing secret\?|Your new signing secret)$/,
    action: "Rotate secret",
    request: "RotateWebhookSecret",
    after: { secret: /^whsec_/, done: "I’ve saved it" },
  },
  "edit endpoint": {
    user: "owner",
    path: endpointPath,
    open: [/^Edit$/],
    title: /^Edit endpoint$/,
    fill: write("Description", "Northern dispatch board #"),
    action: "Save",
    request: "UpdateWebhookEndpoint",
    after: "closed",
  },
  "pause endpoint": {
    user: "owner",
    before: `mutation ($endpoint: ID!) { resumeWebhookEndpoint(id: $endpoint) { userErrors { message } } }`,
    path: endpointPath,
    open: [/^Pause$/],
    title: /^Pause this endpoint\?$/,
    action: "Pause",
    request: "PauseWebhookEndpoint",
    after: "closed",
  },
  "edit job": {
    user: "owner",
    path: ({ markingNumber }) => `/jobs/${markingNumber}`,
    open: [/^Edit$/],
    title: /^Edit MN-/,
    fill: write("Instructions", "Leave at reception #"),
    action: "Save",
    request: "UpdateJob",
    after: "closed",
  },
  "save view": {
    user: "owner",
    path: () => "/jobs",
    open: [/^Views/, /^Save view/],
    title: /^Save view$/,
    fill: write("Name", "Late in the east #"),
    action: "Save view",
    request: "SaveView",
    after: "closed",
  },
  invite: {
    user: "owner",
    path: () => "/members",
    open: [/^Invite$/],
    title: /^Invite a member$/,
    fill: write("E-mail", "colleague-#@test.example"),
    action: "Send invitation",
    request: "InviteMember",
    after: "closed",
  },
  "ask about a request": {
    user: "operator",
    path: ({ ids }) => `/operator/requests/${ids.request}`,
    open: [/^Ask a question…$/],
    title: /^Ask office@/,
    fill: write("Question", "Whose jobs would you carry out?"),
    action: "Send question",
    request: "AskAccountRequest",
    after: "closed",
  },
  "add status": {
    user: "operator",
    path: () => "/operator/statuses",
    open: [/^Add status$/],
    title: /^Add a status$/,
    fill: async (dialog) => {
      await dialog.getByLabel("Code").fill("in_customs");
      await dialog.getByLabel("Label").fill("In customs");
    },
    action: "Add status",
    request: "UpsertJobStatus",
    after: "closed",
  },
};

interface OpenedDialog {
  page: Page;
  dialog: Locator;
  /** The button that opened the dialog or its menu. */
  opener: Locator;
}

async function openDialog({ user, before, path, open, title }: Case): Promise<OpenedDialog> {
  if (before) await fixture[user].queryData(before, { endpoint: fixture.ids.endpoint });
  const { page, context } = await openTab(browser, fixture.app, { user: fixture[user] });
  onTestFinished(() => context.close());
  await page.goto("/security");
  await expectVisible(page.getByRole("heading", { level: 1 }));
  // Navigates within the app, so that Back stays in it.
  await page.evaluate(`__TSR_ROUTER__.history.push("${path(fixture)}")`);
  const [first, second] = open;
  const opener = page.getByRole("button", { name: first! }).first();
  await opener.click();
  if (second) await page.getByRole("menuitem", { name: second }).click();
  const dialog = page.getByRole("dialog", { name: title });
  await expectVisible(dialog);
  return { page, dialog, opener };
}

/** Delays the response to a mutation until `release` is called. */
async function holdResponse(
  page: Page,
  request: string,
): Promise<{ received: Promise<void>; release: () => void }> {
  const [received, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  await page.route("**/graphql", async (route) => {
    if (!route.request().postData()?.includes(`mutation ${request}`)) return await route.fallback();
    const response = await route.fetch();
    received.resolve();
    await released.promise;
    return await route.fulfill({ response });
  });
  return { received: received.promise, release: released.resolve };
}

const prompt = (page: Page): Locator => page.getByRole("dialog", { name: "Discard your changes?" });

/** Ways to close a dialog, except Cancel. The click at the top left is outside of drawers and dialogs. */
const closeActions: readonly ((page: Page, dialog: Locator) => Promise<void>)[] = [
  (page) => page.keyboard.press("Escape"),
  (page) => page.mouse.click(4, 4),
  (_page, dialog) => dialog.getByRole("button", { name: "Close" }).click(),
];

const ESCAPE_TWICE = [(page: Page) => page.keyboard.press("Escape"), "Escape"] as const;

const all = Object.entries(cases);
const withInput = all.filter(([, { fill }]) => fill !== undefined);

describe("a dialog", () => {
  it.each(all)("stays open until the response arrives: %s", async (_name, testCase) => {
    const { page, dialog } = await openDialog(testCase);
    await testCase.fill?.(dialog, page);
    const { received, release } = await holdResponse(page, testCase.request);
    await dialog.getByRole("button", { name: testCase.action, exact: true }).click();
    await received;

    for (const close of closeActions) await close(page, dialog);
    const { pathname } = new URL(page.url());
    await page.evaluate("history.back()");
    await expect.poll(() => new URL(page.url()).pathname).toBe(pathname);
    expect(await prompt(page).count()).toBe(0);
    expect(await dialog.isVisible()).toBe(true);

    release();
    if (testCase.after === "closed") await dialog.waitFor({ state: "hidden" });
    else await expectVisible(dialog.getByText(testCase.after.secret));
  });

  it.each(withInput)("asks before it discards input: %s", async (_name, testCase) => {
    const { page, dialog } = await openDialog(testCase);
    await testCase.fill!(dialog, page);
    for (const [close, key] of [...closeActions.map((action) => [action, "Enter"] as const), ESCAPE_TWICE]) {
      await close(page, dialog);
      const keep = prompt(page).getByRole("button", { name: "Keep editing" });
      await expectVisible(keep);
      await expect.poll(() => hasFocus(keep)).toBe(true);
      await page.keyboard.press(key);
      await prompt(page).waitFor({ state: "hidden" });
      expect(await dialog.isVisible()).toBe(true);
      await expect
        .poll(() =>
          dialog
            .locator(":focus")
            .or(dialog.and(page.locator(":focus")))
            .count(),
        )
        .toBe(1);
    }
    await dialog.getByRole("button", { name: "Cancel" }).click();
    await prompt(page).getByRole("button", { name: "Discard" }).click();
    await dialog.waitFor({ state: "hidden" });
  });

  it.each(all)(
    "closes without asking if nothing was entered, and returns the focus: %s",
    async (_name, testCase) => {
      const { page, dialog, opener } = await openDialog(testCase);
      await page.keyboard.press("Escape");
      await dialog.waitFor({ state: "hidden" });
      await expect.poll(() => hasFocus(opener)).toBe(true);
    },
  );

  it.each(all.filter(([, { after }]) => after !== "closed"))(
    "closes only through its own button while it shows a secret: %s",
    async (_name, testCase) => {
      const { page, dialog } = await openDialog(testCase);
      await testCase.fill?.(dialog, page);
      await dialog.getByRole("button", { name: testCase.action, exact: true }).click();
      const { secret, done } = testCase.after as Exclude<Case["after"], "closed">;
      await expectVisible(dialog.getByText(secret));

      expect(await dialog.getByRole("button", { name: "Close" }).count()).toBe(0);
      await page.keyboard.press("Escape");
      await page.mouse.click(4, 4);
      await page.evaluate("history.back()");
      await expect.poll(() => new URL(page.url()).pathname).toBe(testCase.path(fixture));
      await expectVisible(dialog.getByText(secret));

      await dialog.getByRole("button", { name: done }).click();
      await dialog.waitFor({ state: "hidden" });
    },
  );

  it("moves the focus to the heading if the opener no longer exists", async () => {
    await fixture.owner.queryData(
      `mutation { createApiKey(input: { name: "Old sync", scopes: [JOBS_READ] }) { userErrors { message } } }`,
    );
    const { page, dialog } = await openDialog({
      ...cases["rotate key"]!,
      open: [/^Actions for Old sync$/, /^Revoke/],
      title: /^Revoke Old sync\?$/,
    });
    await dialog.getByRole("button", { name: "Revoke key" }).click();
    await dialog.waitFor({ state: "hidden" });
    await expect.poll(() => hasFocus(page.getByRole("heading", { level: 1 }))).toBe(true);
  });
});

async function editName(): Promise<Page> {
  const { page, context } = await openTab(browser, fixture.app, { user: fixture.member });
  onTestFinished(() => context.close());
  await page.goto("/jobs");
  await page.getByRole("link", { name: "Security" }).click();
  await page.getByLabel("Name", { exact: true }).fill("Another name");
  return page;
}

describe("a form with unsaved changes", () => {
  it.each([
    ["by a link", (page: Page) => page.getByRole("link", { name: "Dashboard", exact: true }).click()],
    ["by going back", (page: Page) => page.evaluate("history.back()")],
    ["by signing out", (page: Page) => page.getByRole("button", { name: "Sign out" }).click()],
  ] as const)("asks before the page is left: %s", async (_way, leave) => {
    const page = await editName();
    await leave(page);
    await prompt(page).getByRole("button", { name: "Keep editing" }).click();
    await prompt(page).waitFor({ state: "hidden" });
    expect(await page.getByLabel("Name", { exact: true }).inputValue()).toBe("Another name");
    expect(new URL(page.url()).pathname).toBe("/security");

    await leave(page);
    await prompt(page).getByRole("button", { name: "Discard" }).click();
    await expect.poll(() => new URL(page.url()).pathname).not.toBe("/security");
  });

  it("makes the browser ask before a reload, until it is saved", async () => {
    const page = await editName();
    const browserDialogs: string[] = [];
    page.on("dialog", (dialog) => {
      browserDialogs.push(dialog.type());
      void dialog.accept();
    });
    await page.reload();
    expect(browserDialogs).toEqual(["beforeunload"]);

    await page.getByLabel("Name", { exact: true }).fill("A saved name");
    await page.getByRole("button", { name: "Save name" }).click();
    await expectVisible(page.getByText("Name saved."));
    await page.reload();
    expect(browserDialogs).toEqual(["beforeunload"]);
  });
});

function hasFocus(target: Locator): Promise<boolean> {
  return target.evaluate((node: unknown) => {
    const element = node as { ownerDocument: { activeElement: unknown } };
    return element === element.ownerDocument.activeElement;
  });
}
