/** Closing dialogs: busy ones, unsaved input, secrets shown once, and the focus afterwards. */
import type { Browser, Locator, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { BROWSER_TIMEOUT_MS, expectVisible, openTab, startBrowser } from "../support/browser/tabs.ts";
import { createConsoleFixture, type ConsoleFixture } from "../support/browser/console.fixture.ts";

vi.setConfig({ testTimeout: BROWSER_TIMEOUT_MS, hookTimeout: BROWSER_TIMEOUT_MS });

const opened = new AsyncDisposableStack();
let browser: Browser;
let world: ConsoleFixture;

beforeAll(async () => {
  browser = opened.adopt(await startBrowser(), (one) => one.close());
  world = opened.use(await createConsoleFixture());
  await world.owner.queryData(
    `mutation { createApiKey(input: { name: "Night sync", scopes: [JOBS_READ] }) { userErrors { message } } }`,
  );
});
afterAll(() => opened.disposeAsync());

interface Case {
  who: "owner" | "operator";
  path: (world: ConsoleFixture) => string;
  /** Done by the API before. */
  before?: string;
  /** Buttons and menu items, in the order in which they are pressed. The first one opens the dialog or its menu. */
  open: readonly RegExp[];
  title: RegExp;
  /** Changes the input. Undefined if the dialog has no input. */
  fill?: (dialog: Locator, page: Page) => Promise<void>;
  /** The words on the button, and the request that it sends. */
  action: string;
  request: string;
  /** The answer shows a secret, or closes the dialog. */
  after: { secret: RegExp; done: string } | "closed";
}

let texts = 0;

/** Another text each time: what is saved already would be no change. */
const write =
  (label: string, text: string): NonNullable<Case["fill"]> =>
  (dialog) =>
    dialog.getByLabel(label, { exact: true }).fill(text.replace("#", String((texts += 1))));

const endpointPath = ({ ids }: ConsoleFixture): string => `/integrations/endpoints/${ids.endpoint}`;

const cases: Record<string, Case> = {
  "create key": {
    who: "owner",
    path: () => "/integrations/keys",
    open: [/^Create API key$/],
    title: /^(Create API key|Your new API key)$/,
    fill: (dialog) => dialog.getByLabel("Name").fill("Warehouse sync"),
    action: "Create API key",
    request: "CreateApiKey",
    after: { secret: /^wmk_/, done: "I have kept it" },
  },
  "rotate key": {
    who: "owner",
    path: () => "/integrations/keys",
    open: [/^Actions for Night sync$/, /^Rotate/],
    title: /^(Rotate Night sync|Your new API key)$/,
    fill: (dialog) => dialog.getByRole("slider").press("ArrowLeft"),
    action: "Rotate key",
    request: "RotateApiKey",
    after: { secret: /^wmk_/, done: "I have kept it" },
  },
  "create endpoint": {
    who: "owner",
    path: () => "/integrations/endpoints",
    open: [/^Create endpoint$/],
    title: /^(Create endpoint|Your endpoint's secret)$/,
    fill: (dialog) => dialog.getByLabel("URL").fill("http://127.0.0.1:9/never-sent-to"),
    action: "Create endpoint",
    request: "CreateWebhookEndpoint",
    after: { secret: /^whsec_/, done: "Go to the endpoint" },
  },
  "rotate secret": {
    who: "owner",
    path: endpointPath,
    open: [/^Rotate…$/],
    title: /^(Rotate the secret\?|The new secret)$/,
    action: "Rotate secret",
    request: "RotateWebhookSecret",
    after: { secret: /^whsec_/, done: "I have kept it" },
  },
  "edit endpoint": {
    who: "owner",
    path: endpointPath,
    open: [/^Edit$/],
    title: /^Edit endpoint$/,
    fill: write("Description", "Northern dispatch board #"),
    action: "Save",
    request: "UpdateWebhookEndpoint",
    after: "closed",
  },
  "pause endpoint": {
    who: "owner",
    before: `mutation ($endpoint: ID!) { resumeWebhookEndpoint(id: $endpoint) { userErrors { message } } }`,
    path: endpointPath,
    open: [/^Pause$/],
    title: /^Pause this endpoint\?$/,
    action: "Pause",
    request: "PauseWebhookEndpoint",
    after: "closed",
  },
  "edit job": {
    who: "owner",
    path: ({ markingNumber }) => `/jobs/${markingNumber}`,
    open: [/^Edit$/],
    title: /^Edit MN-/,
    fill: write("Instructions", "Leave at reception #"),
    action: "Save",
    request: "UpdateJob",
    after: "closed",
  },
  "save view": {
    who: "owner",
    path: () => "/jobs",
    open: [/^Views/, /^Keep this view/],
    title: /^Keep this view$/,
    fill: write("Name", "Late in the east #"),
    action: "Keep view",
    request: "SaveView",
    after: "closed",
  },
  invite: {
    who: "owner",
    path: () => "/members",
    open: [/^Invite$/],
    title: /^Invite a member$/,
    fill: write("E-mail", "colleague-#@test.example"),
    action: "Send invitation",
    request: "InviteMember",
    after: "closed",
  },
  "ask about a request": {
    who: "operator",
    path: ({ ids }) => `/operator/requests/${ids.request}`,
    open: [/^Ask for more…$/],
    title: /^Ask office@/,
    fill: write("Question", "Whose jobs would you carry out?"),
    action: "Send question",
    request: "AskAccountRequest",
    after: "closed",
  },
  "add status": {
    who: "operator",
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

interface Open {
  page: Page;
  dialog: Locator;
  /** The button that opened the dialog, or the menu in which it was chosen. */
  opener: Locator;
}

async function openDialog({ who, before, path, open, title }: Case): Promise<Open> {
  if (before) await world[who].queryData(before, { endpoint: world.ids.endpoint });
  const { page, context } = await openTab(browser, world.app, { user: world[who] });
  onTestFinished(() => context.close());
  await page.goto("/security");
  await expectVisible(page.getByRole("heading", { level: 1 }));
  // Within the page, so that there is something to go back to.
  await page.evaluate(`__TSR_ROUTER__.history.push("${path(world)}")`);
  const [first, second] = open;
  const opener = page.getByRole("button", { name: first! }).first();
  await opener.click();
  if (second) await page.getByRole("menuitem", { name: second }).click();
  const dialog = page.getByRole("dialog", { name: title });
  await expectVisible(dialog);
  return { page, dialog, opener };
}

/** Keeps the answer back until it is released. */
async function holdAnswer(
  page: Page,
  request: string,
): Promise<{ asked: Promise<void>; release: () => void }> {
  const [asked, answer] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  await page.route("**/graphql", async (route) => {
    if (!route.request().postData()?.includes(`mutation ${request}`)) return await route.fallback();
    const response = await route.fetch();
    asked.resolve();
    await answer.promise;
    return await route.fulfill({ response });
  });
  return { asked: asked.promise, release: answer.resolve };
}

const prompt = (page: Page): Locator => page.getByRole("dialog", { name: "Discard your changes?" });

/** Besides Cancel. A drawer covers the right edge, a dialog the middle. */
const waysOut: readonly ((page: Page, dialog: Locator) => Promise<void>)[] = [
  (page) => page.keyboard.press("Escape"),
  (page) => page.mouse.click(4, 4),
  (_page, dialog) => dialog.getByRole("button", { name: "Close" }).click(),
];

const ESCAPE_TWICE = [(page: Page) => page.keyboard.press("Escape"), "Escape"] as const;

const all = Object.entries(cases);
const withInput = all.filter(([, { fill }]) => fill !== undefined);

describe("a dialog", () => {
  it.each(all)("stays open until the answer to it has come: %s", async (_name, one) => {
    const { page, dialog } = await openDialog(one);
    await one.fill?.(dialog, page);
    const { asked, release } = await holdAnswer(page, one.request);
    await dialog.getByRole("button", { name: one.action, exact: true }).click();
    await asked;

    for (const leave of waysOut) await leave(page, dialog);
    const { pathname } = new URL(page.url());
    await page.evaluate("history.back()");
    await expect.poll(() => new URL(page.url()).pathname).toBe(pathname);
    expect(await prompt(page).count()).toBe(0);
    expect(await dialog.isVisible()).toBe(true);

    release();
    if (one.after === "closed") await dialog.waitFor({ state: "hidden" });
    else await expectVisible(dialog.getByText(one.after.secret));
  });

  it.each(withInput)("asks before it drops what was entered: %s", async (_name, one) => {
    const { page, dialog } = await openDialog(one);
    await one.fill!(dialog, page);
    for (const [leave, answer] of [...waysOut.map((way) => [way, "Enter"] as const), ESCAPE_TWICE]) {
      await leave(page, dialog);
      const keep = prompt(page).getByRole("button", { name: "Keep editing" });
      await expectVisible(keep);
      await expect.poll(() => hasFocus(keep)).toBe(true);
      await page.keyboard.press(answer);
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

  it.each(all)("closes at once without input, and returns the focus: %s", async (_name, one) => {
    const { page, dialog, opener } = await openDialog(one);
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "hidden" });
    await expect.poll(() => hasFocus(opener)).toBe(true);
  });

  it.each(all.filter(([, { after }]) => after !== "closed"))(
    "closes by its button alone once it shows a secret: %s",
    async (_name, one) => {
      const { page, dialog } = await openDialog(one);
      await one.fill?.(dialog, page);
      await dialog.getByRole("button", { name: one.action, exact: true }).click();
      const { secret, done } = one.after as Exclude<Case["after"], "closed">;
      await expectVisible(dialog.getByText(secret));

      expect(await dialog.getByRole("button", { name: "Close" }).count()).toBe(0);
      await page.keyboard.press("Escape");
      await page.mouse.click(4, 4);
      await page.evaluate("history.back()");
      await expect.poll(() => new URL(page.url()).pathname).toBe(one.path(world));
      await expectVisible(dialog.getByText(secret));

      await dialog.getByRole("button", { name: done }).click();
      await dialog.waitFor({ state: "hidden" });
    },
  );

  it("moves the focus to the heading if its opener is gone", async () => {
    await world.owner.queryData(
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

async function editedName(): Promise<Page> {
  const { page, context } = await openTab(browser, world.app, { user: world.member });
  onTestFinished(() => context.close());
  await page.goto("/jobs");
  await page.getByRole("link", { name: "Security" }).click();
  await page.getByLabel("Name", { exact: true }).fill("Another name");
  return page;
}

describe("an edited form on a page", () => {
  it.each([
    ["by a link", (page: Page) => page.getByRole("link", { name: "Dashboard", exact: true }).click()],
    ["by going back", (page: Page) => page.evaluate("history.back()")],
    ["by signing out", (page: Page) => page.getByRole("button", { name: "Sign out" }).click()],
  ] as const)("is not left without asking: %s", async (_way, leave) => {
    const page = await editedName();
    await leave(page);
    await prompt(page).getByRole("button", { name: "Keep editing" }).click();
    await prompt(page).waitFor({ state: "hidden" });
    expect(await page.getByLabel("Name", { exact: true }).inputValue()).toBe("Another name");
    expect(new URL(page.url()).pathname).toBe("/security");

    await leave(page);
    await prompt(page).getByRole("button", { name: "Discard" }).click();
    await expect.poll(() => new URL(page.url()).pathname).not.toBe("/security");
  });

  it("is not reloaded without the browser asking, until it is saved", async () => {
    const page = await editedName();
    const asked: string[] = [];
    page.on("dialog", (dialog) => {
      asked.push(dialog.type());
      void dialog.accept();
    });
    await page.reload();
    expect(asked).toEqual(["beforeunload"]);

    await page.getByLabel("Name", { exact: true }).fill("A saved name");
    await page.getByRole("button", { name: "Save name" }).click();
    await expectVisible(page.getByText("Your name is changed."));
    await page.reload();
    expect(asked).toEqual(["beforeunload"]);
  });
});

function hasFocus(target: Locator): Promise<boolean> {
  return target.evaluate((one: unknown) => {
    const element = one as { ownerDocument: { activeElement: unknown } };
    return element === element.ownerDocument.activeElement;
  });
}
