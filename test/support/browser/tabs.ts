/** Pages of the console in a real browser, each of which keeps a list of what it complained about. */
import type { Browser, BrowserContext, Locator, Page } from "playwright-core";
import pg from "pg";
import { inject } from "vitest";
import { buildIfStale } from "../../../src/console/build.ts";
import { signIn, type TestUser } from "../accounts/session-client.ts";
import { launchChromium } from "./chromium.ts";
import type { TestApp } from "../app/app.fixture.ts";

/** On a machine that does other things too. */
export const BROWSER_TIMEOUT_MS = 120_000;
const STEP_TIMEOUT_MS = 30_000;
/** Whatever number all files agree on. */
const LOCK_ID = 4_190;

export const DESKTOP = { width: 1280, height: 800 };
export const PHONE = { width: 360, height: 740 };

export interface Tab {
  readonly context: BrowserContext;
  readonly page: Page;
  /** Errors on the console, what the page's policy refused, failures nobody caught, and requests to other hosts. */
  readonly pageErrors: string[];
}

export interface TabOptions {
  /** Who is signed in; nobody unless said. */
  user?: Pick<TestUser, "email" | "password">;
  viewport?: { width: number; height: number };
}

/** With the console as it stands in the sources. */
export async function startBrowser(): Promise<Browser> {
  await withAdvisoryLock(buildIfStale);
  return await withAdvisoryLock(launchChromium);
}

/** A browser of its own, as it were, with one page. */
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
    // What moves is never quite there.
    reducedMotion: "reduce",
  });
  context.setDefaultTimeout(STEP_TIMEOUT_MS);
  if (user) await context.addCookies(browserCookies(app, (await signIn(app, user)).cookie));
  const page = await context.newPage();
  return { context, page, pageErrors: collectPageErrors(page, app.url) };
}

/** Sooner or later. */
export async function expectVisible(what: Locator): Promise<void> {
  await what.waitFor({ state: "visible" });
}

/** A `Cookie` header as a browser's cookies. */
export function browserCookies(
  app: Pick<TestApp, "url">,
  cookie: string,
): Parameters<BrowserContext["addCookies"]>[0] {
  // Such a cookie is only taken from `https:`, or over the network from this very machine.
  const url = app.url.replace(/^http:/, "https:");
  return cookie.split("; ").map((pair) => {
    const [name = "", value = ""] = pair.split("=", 2);
    return { name, value, url, secure: true, httpOnly: true, sameSite: "Lax" };
  });
}

function collectPageErrors(page: Page, origin: string): string[] {
  const complaints: string[] = [];
  page.on("console", (message) => {
    const { url } = message.location();
    // A browser tells of every refusal on its console; this one says that nobody is signed in, which is no error.
    const isSignedOut = url === `${origin}/auth/session` && message.text().includes("401");
    if (message.type() === "error" && !isSignedOut) complaints.push(`console: ${message.text()} (${url})`);
  });
  page.on("pageerror", (error) => void complaints.push(`uncaught: ${error.message}`));
  page.on("request", (request) => {
    const url = new URL(request.url());
    const isOwn = url.origin === origin || ["data:", "blob:"].includes(url.protocol);
    if (!isOwn) complaints.push(`request to ${url.origin}`);
  });
  return complaints;
}

/** Files run beside each other, and all of them would build the console and unpack the browser into the same place. */
async function withAdvisoryLock<T>(work: () => Promise<T>): Promise<T> {
  const client = new pg.Client(inject("serverUrl"));
  await client.connect();
  try {
    await client.query("select pg_advisory_lock($1)", [LOCK_ID]);
    return await work();
  } finally {
    await client.end();
  }
}
