/** Closing dialogs: while busy, with unsaved input, with a secret, and where the focus goes. */
import type { Locator, Page } from "playwright-core";
import { beforeAll, describe, expect, it } from "vitest";
import { createTestUser } from "../support/accounts/session-client.ts";
import { createSignedInUser } from "../support/accounts/signed-in-user.ts";
import { createAgent, requestAccount } from "../support/browser/console.fixture.ts";
import { startConsole } from "../support/browser/shared-console.ts";
import { expectFocus, expectVisible, openTab, visit } from "../support/browser/tabs.ts";

/** The data in the paths of the cases. */
interface DialogData {
  /** Typed IDs. */
  endpoint: string;
  request: string;
  markingNumber: string;
}

interface DialogCase {
  user: "owner" | "operator";
  path: string | ((data: DialogData) => string);
  /** The buttons and menu items to press, in order. The first one opens the dialog or its menu. */
  open: readonly RegExp[];
  title: RegExp;
  /** Changes the input. Undefined if the dialog has no input. */
  fill?: (dialog: Locator, page: Page) => Promise<void>;
  /** The label of the button, and the operation that it sends. */
  action: string;
  request: string;
  /** The response shows a secret, or closes the dialog. */
  after: { secret: RegExp; done: string } | "closed";
}

let texts = 0;

/** Replaces # by a new number on each call, because an unchanged value would be no input. */
const write =
  (label: string, text: string): NonNullable<DialogCase["fill"]> =>
  (dialog) =>
    dialog.getByLabel(label, { exact: true }).fill(text.replace("#", String((texts += 1))));

const endpointPath = ({ endpoint }: DialogData): string => `/integrations/endpoints/${endpoint}`;

const dialogCases: Record<string, DialogCase> = {
  "create key": {
    user: "owner",
    path: "/integrations/keys",
    open: [/^Create API key$/],
    title: /^(Create API key|Your new API key)$/,
    fill: (dialog) => dialog.getByLabel("Name").fill("Warehouse sync"),
    action: "Create API key",
    request: "CreateApiKey",
    after: { secret: /^wmk_/, done: "I’ve saved it" },
  },
  "rotate key": {
    user: "owner",
    path: "/integrations/keys",
    open: [/^Actions for Night sync$/, /^Rotate/],
    title: /^(Rotate Night sync|Your new API key)$/,
    fill: (dialog) => dialog.getByRole("slider").press("ArrowLeft"),
    action: "Rotate key",
    request: "RotateApiKey",
    after: { secret: /^wmk_/, done: "I’ve saved it" },
  },
  "create endpoint": {
    user: "owner",
    path: "/integrations/endpoints",
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
    path: "/jobs?status=failed",
    open: [/^Save as/],
    title: /^Save view$/,
    fill: write("Name", "Late in the east #"),
    action: "Save view",
    request: "SaveView",
    after: "closed",
  },
  invite: {
    user: "owner",
    path: "/members",
    open: [/^Invite$/],
    title: /^Invite a member$/,
    fill: write("E-mail", "colleague-#@test.example"),
    action: "Send invitation",
    request: "InviteMember",
    after: "closed",
  },
  "ask about a request": {
    user: "operator",
    path: ({ request }) => `/operator/requests/${request}`,
    open: [/^Ask a question…$/],
    title: /^Ask office@/,
    fill: write("Question", "Whose jobs would you carry out?"),
    action: "Send question",
    request: "AskAccountRequest",
    after: "closed",
  },
  "add status": {
    user: "operator",
    path: "/operator/statuses",
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

const app = await startConsole();
const { agent, numbers, user: owner } = await createAgent(app, { jobs: [{}] });
const users = { owner, operator: await createSignedInUser(app, null) };
let data: DialogData;

beforeAll(async () => {
  await createKey("Night sync");
  await createKey("Old sync");
  const { createWebhookEndpoint } = await users.owner.queryData(
    `mutation { createWebhookEndpoint(input: { url: "http://127.0.0.1:9/" }) { endpoint { id } } }`,
  );
  const { id: request } = await requestAccount(app, users.operator, "Quay Street Vans");
  data = { endpoint: createWebhookEndpoint.endpoint.id, request, markingNumber: numbers[0]! };
});

async function createKey(name: string): Promise<void> {
  await users.owner.queryData(
    `mutation ($name: String!) { createApiKey(input: { name: $name, scopes: [JOBS_READ] }) { userErrors { message } } }`,
    { name },
  );
}

const pathOf = ({ path }: DialogCase): string => (typeof path === "string" ? path : path(data));

/** Opens the page of the dialog within the app, so that Back stays in it. */
async function openPage(testCase: DialogCase): Promise<Page> {
  const { page } = await visit(app, "/security", { user: users[testCase.user] });
  await expectVisible(page.getByRole("heading", { level: 1 }));
  await page.evaluate(`__TSR_ROUTER__.history.push("${pathOf(testCase)}")`);
  return page;
}

/** Returns the dialog, and the button that opened it or its menu. */
async function openDialog(page: Page, { open: [first, second], title }: DialogCase) {
  const opener = page.getByRole("button", { name: first! }).first();
  await opener.click();
  if (second) await page.getByRole("menuitem", { name: second }).click();
  const dialog = page.getByRole("dialog", { name: title });
  await expectVisible(dialog);
  return { dialog, opener };
}

/** Delays the response to a mutation until `release` is called. */
async function holdResponse(page: Page, request: string) {
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

type CloseAction = (page: Page, dialog: Locator) => Promise<void>;

/** Ways to close a dialog, except Cancel. The click at the top left is outside of drawers and dialogs. */
const closeActions: readonly CloseAction[] = [
  (page) => page.keyboard.press("Escape"),
  (page) => page.mouse.click(4, 4),
  (_page, dialog) => dialog.getByRole("button", { name: "Close" }).click(),
];

const escape = (page: Page): Promise<void> => page.keyboard.press("Escape");

/** Those that show a secret, and one that does not. */
const QUICK_CASES = new Set(["create key", "rotate key", "create endpoint", "rotate secret", "edit job"]);

describe("a dialog", () => {
  describe.each(Object.entries(dialogCases))("%s", (name, testCase) => {
    const tags = QUICK_CASES.has(name) ? [] : ["long"];
    it("loses no input, response or secret when it closes", { tags }, async () => {
      const page = await openPage(testCase);
      await expectCloseWithoutInput(page, testCase);
      const { dialog } = await openDialog(page, testCase);
      await testCase.fill?.(dialog, page);
      if (testCase.fill) await expectPrompt(page, dialog, escape, "Escape");
      await expectOpenWhileBusy(page, dialog, testCase);
      if (testCase.after === "closed") await dialog.waitFor({ state: "hidden" });
      else await expectOpenWithSecret(page, dialog, testCase.after, pathOf(testCase));
    });
  });

  it("asks before it discards input, however it is closed", async () => {
    const testCase = dialogCases["create key"]!;
    const page = await openPage(testCase);
    const { dialog } = await openDialog(page, testCase);
    await testCase.fill!(dialog, page);
    for (const close of closeActions) await expectPrompt(page, dialog, close, "Enter");
    await dialog.getByRole("button", { name: "Cancel" }).click();
    await prompt(page).getByRole("button", { name: "Discard" }).click();
    await dialog.waitFor({ state: "hidden" });
  });

  it("moves the focus to the heading if the opener no longer exists", { tags: "long" }, async () => {
    const revoke = {
      ...dialogCases["rotate key"]!,
      open: [/^Actions for Old sync$/, /^Revoke/],
      title: /^Revoke Old sync\?$/,
    };
    const page = await openPage(revoke);
    const { dialog } = await openDialog(page, revoke);
    await dialog.getByRole("button", { name: "Revoke key" }).click();
    await dialog.waitFor({ state: "hidden" });
    await expectFocus(page.getByRole("heading", { level: 1 }));
  });
});

/** It closes without asking, and returns the focus. */
async function expectCloseWithoutInput(page: Page, testCase: DialogCase): Promise<void> {
  const { dialog, opener } = await openDialog(page, testCase);
  await escape(page);
  await dialog.waitFor({ state: "hidden" });
  await expectFocus(opener);
}

/** Closing asks first; `key` answers with "Keep editing". */
async function expectPrompt(page: Page, dialog: Locator, close: CloseAction, key: string): Promise<void> {
  await close(page, dialog);
  await expectFocus(prompt(page).getByRole("button", { name: "Keep editing" }));
  await page.keyboard.press(key);
  await prompt(page).waitFor({ state: "hidden" });
  expect(await dialog.isVisible()).toBe(true);
  await dialog
    .locator(":focus")
    .or(dialog.and(page.locator(":focus")))
    .waitFor();
}

/** The dialog stays open until the response arrives. */
async function expectOpenWhileBusy(page: Page, dialog: Locator, testCase: DialogCase): Promise<void> {
  const { received, release } = await holdResponse(page, testCase.request);
  await dialog.getByRole("button", { name: testCase.action, exact: true }).click();
  await received;
  for (const close of closeActions) await close(page, dialog);
  await expectNoWayBack(page, pathOf(testCase));
  expect(await prompt(page).count()).toBe(0);
  expect(await dialog.isVisible()).toBe(true);
  release();
}

/** It closes only through its own button. */
async function expectOpenWithSecret(
  page: Page,
  dialog: Locator,
  { secret, done }: Exclude<DialogCase["after"], "closed">,
  path: string,
): Promise<void> {
  await expectVisible(dialog.getByText(secret));
  expect(await dialog.getByRole("button", { name: "Close" }).count()).toBe(0);
  await escape(page);
  await page.mouse.click(4, 4);
  await expectNoWayBack(page, path);
  await expectVisible(dialog.getByText(secret));
  await dialog.getByRole("button", { name: done }).click();
  await dialog.waitFor({ state: "hidden" });
}

async function expectNoWayBack(page: Page, path: string): Promise<void> {
  await page.evaluate(
    "new Promise((done) => { addEventListener('popstate', () => done(), { once: true }); history.back(); })",
  );
  await expect.poll(() => new URL(page.url()).pathname).toBe(path.split("?")[0]);
}

async function editName(): Promise<Page> {
  const user = await createTestUser(app, { organizationId: agent.id, role: "dispatcher" });
  const { page } = await openTab(app, { user });
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
  ] as const)("asks before the page is left: %s", { tags: "long" }, async (_way, leave) => {
    const page = await editName();
    await leave(page);
    await prompt(page).getByRole("button", { name: "Keep editing" }).click();
    await prompt(page).waitFor({ state: "hidden" });
    await expect.poll(() => page.getByLabel("Name", { exact: true }).inputValue()).toBe("Another name");
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
