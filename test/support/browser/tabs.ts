/** Opens console pages in a real browser and collects their errors. */
import type { BrowserContext, Locator, Page } from "playwright-core";
import { expect, onTestFinished } from "vitest";
import { signIn, type Credentials } from "../accounts/session-client.ts";
import type { AppInstance } from "../app/app-instance.ts";
import { sharedBrowser } from "./shared-console.ts";

const STEP_TIMEOUT_MS = 30_000;
const SNAPSHOT_TIMEOUT_MS = 5_000;
const MAX_SNAPSHOT_CHARACTERS = 5_000;

export const DESKTOP = { width: 1280, height: 800 };
export const TABLET = { width: 768, height: 1024 };
export const PHONE = { width: 360, height: 740 };

type ConsoleApp = Pick<AppInstance, "call" | "url">;

export interface Tab {
  readonly context: BrowserContext;
  readonly page: Page;
  /** Console errors, CSP violations, uncaught errors and requests to other hosts. */
  readonly pageErrors: string[];
}

export interface TabOptions {
  /** The signed-in user. Default: none. */
  user?: Credentials;
  viewport?: { width: number; height: number };
  /** For a test that installs a clock, which cannot be removed again. */
  hasOwnClock?: boolean;
}

interface Profile {
  readonly context: BrowserContext;
  /** Keeps the renderer process alive, which all pages of a profile share. */
  readonly parkedPage: Page;
}

/** Profiles that no test uses, by the app's URL. Their process and HTTP cache save half of the time to open the console. */
const idleProfiles = new Map<string, Profile[]>();

/** Opens a page in a profile without cookies, storage and permissions. The page is closed when the test ends. */
export async function openTab(
  app: ConsoleApp,
  { user, viewport = DESKTOP, hasOwnClock = false }: TabOptions = {},
): Promise<Tab> {
  const idle = idleProfiles.get(app.url) ?? [];
  idleProfiles.set(app.url, idle);
  const used = idle.pop();
  // Those of a browser that crashed are gone.
  const profile = used?.context.browser()?.isConnected() ? used : await createProfile(app);
  const { context } = profile;
  onTestFinished(async ({ task }) => {
    const isReusable = task.result?.state === "pass" && !hasOwnClock;
    if (task.result?.state === "fail") await printPages(profile);
    if (!isReusable) return await context.close();
    await emptyProfile(profile);
    idle.push(profile);
  });
  if (user) await context.addCookies(browserCookies(app, (await signIn(app, user)).cookie));
  const page = await context.newPage();
  await page.setViewportSize(viewport);
  return { context, page, pageErrors: collectPageErrors(page, app.url) };
}

async function createProfile(app: ConsoleApp): Promise<Profile> {
  const browser = await sharedBrowser();
  const context = await browser.newContext({
    baseURL: app.url,
    locale: "en-GB",
    timezoneId: "UTC",
    colorScheme: "light",
    // Dialogs and menus appear and disappear at once.
    reducedMotion: "reduce",
  });
  context.setDefaultTimeout(STEP_TIMEOUT_MS);
  const parkedPage = await context.newPage();
  await parkedPage.goto("/health/live");
  return { context, parkedPage };
}

/** Does not clear the HTTP cache, as `setStorageState` would. */
async function emptyProfile({ context, parkedPage }: Profile): Promise<void> {
  for (const page of context.pages()) if (page !== parkedPage) await page.close();
  await context.setOffline(false);
  await context.clearPermissions();
  await context.clearCookies();
  await parkedPage.evaluate("localStorage.clear()");
}

/** Prints what the pages of a failed test show, because Playwright only says what it waited for. */
async function printPages({ context, parkedPage }: Profile): Promise<void> {
  for (const page of context.pages().filter((one) => one !== parkedPage)) {
    const content = await page.locator("body").ariaSnapshot({ timeout: SNAPSHOT_TIMEOUT_MS }).catch(String);
    process.stderr.write(`${page.url()} shows:\n${content.slice(0, MAX_SNAPSHOT_CHARACTERS)}\n`);
  }
}

/** Opens a page, and expects no errors in the browser's console when the test ends, except `allowed`. */
export async function visit(
  app: ConsoleApp,
  path: string,
  options: TabOptions = {},
  allowed = /^$/,
): Promise<Tab> {
  const tab = await openTab(app, options);
  onTestFinished(() => expect(tab.pageErrors.filter((error) => !allowed.test(error))).toEqual([]));
  await tab.page.goto(path);
  return tab;
}

/** Fills in and sends the form of the sign-in page. */
export async function enterPassword(page: Page, { email, password }: Credentials): Promise<void> {
  await page.getByLabel("E-mail").fill(email);
  await page.getByLabel("Password", { exact: true }).fill(password);
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
}

/** Waits until the element is visible. */
export async function expectVisible(target: Locator): Promise<void> {
  await target.waitFor({ state: "visible" });
}

/** Waits until the element has the focus. */
export async function expectFocus(target: Locator): Promise<void> {
  await target.and(target.page().locator(":focus")).waitFor();
}

/** Converts a `Cookie` header to Playwright cookies. */
export function browserCookies(
  app: Pick<AppInstance, "url">,
  cookie: string,
): Parameters<BrowserContext["addCookies"]>[0] {
  // Playwright accepts secure cookies only for `https:` URLs; the browser also sends them to localhost.
  const url = app.url.replace(/^http:/, "https:");
  return cookie.split("; ").map((pair) => {
    const [name = "", value = ""] = pair.split("=", 2);
    return { name, value, url, secure: true, httpOnly: true, sameSite: "Lax" };
  });
}

function collectPageErrors(page: Page, origin: string): string[] {
  const pageErrors: string[] = [];
  page.on("console", (message) => {
    const { url } = message.location();
    // Browsers log every 4xx response. This one only means that no user is signed in.
    const isSignedOut = url === `${origin}/auth/session` && message.text().includes("401");
    if (message.type() === "error" && !isSignedOut) pageErrors.push(`console: ${message.text()} (${url})`);
  });
  page.on("pageerror", (error) => void pageErrors.push(`uncaught: ${error.message}`));
  page.on("request", (request) => {
    const url = new URL(request.url());
    const isOwn = url.origin === origin || ["data:", "blob:"].includes(url.protocol);
    if (!isOwn) pageErrors.push(`request to ${url.origin}`);
  });
  return pageErrors;
}
