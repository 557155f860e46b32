/** Opens console pages in a real browser and collects their errors. */
import type { Browser, BrowserContext, Locator, Page } from "playwright-core";
import { BUILD_TIMEOUT_MS, buildSite, withAdvisoryLock } from "../site.ts";
import { signIn, type TestUser } from "../accounts/session-client.ts";
import { launchChromium } from "./chromium.ts";
import type { TestApp } from "../app/app.fixture.ts";

/** Generous, for busy machines. */
export const BROWSER_TIMEOUT_MS = 120_000;
/** For a hook that calls `startBrowser`. */
export const BROWSER_START_TIMEOUT_MS = BUILD_TIMEOUT_MS + BROWSER_TIMEOUT_MS;
const STEP_TIMEOUT_MS = 30_000;

export const DESKTOP = { width: 1280, height: 800 };
export const PHONE = { width: 360, height: 740 };

export interface Tab {
  readonly context: BrowserContext;
  readonly page: Page;
  /** Console errors, CSP violations, uncaught errors and requests to other hosts. */
  readonly pageErrors: string[];
}

export interface TabOptions {
  /** The signed-in user. Default: none. */
  user?: Pick<TestUser, "email" | "password">;
  viewport?: { width: number; height: number };
}

/** Builds the console if its sources have changed, and starts a browser. */
export async function startBrowser(): Promise<Browser> {
  await buildSite();
  return await withAdvisoryLock(launchChromium);
}

/** Opens a page in a new, isolated browser context. */
export async function openTab(
  browser: Browser,
  app: Pick<TestApp, "call" | "url">,
  { user, viewport = DESKTOP }: TabOptions = {},
): Promise<Tab> {
  const context = await browser.newContext({
    baseURL: app.url,
    viewport,
    locale: "en-GB",
    timezoneId: "UTC",
    colorScheme: "light",
    // Animations would make screenshots and waits unstable.
    reducedMotion: "reduce",
  });
  context.setDefaultTimeout(STEP_TIMEOUT_MS);
  if (user) await context.addCookies(browserCookies(app, (await signIn(app, user)).cookie));
  const page = await context.newPage();
  return { context, page, pageErrors: collectPageErrors(page, app.url) };
}

/** Waits until the element is visible. */
export async function expectVisible(target: Locator): Promise<void> {
  await target.waitFor({ state: "visible" });
}

/** Converts a `Cookie` header to Playwright cookies. */
export function browserCookies(
  app: Pick<TestApp, "url">,
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
