/** Checks every page of the console with axe, on a phone and a desktop, in light and dark, and for console errors. */
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { screenGuides } from "../../src/console/app/guide/guide-pages.ts";
import { findAccessibilityViolations } from "../support/browser/axe.ts";
import {
  BROWSER_START_TIMEOUT_MS,
  BROWSER_TIMEOUT_MS,
  DESKTOP,
  startBrowser,
  openTab,
  PHONE,
  type Tab,
} from "../support/browser/tabs.ts";
import { startAppInstance } from "../support/app/app-instance.ts";
import { createConsoleFixture, type ConsoleFixture } from "../support/browser/console.fixture.ts";

vi.setConfig({ testTimeout: BROWSER_TIMEOUT_MS, hookTimeout: BROWSER_START_TIMEOUT_MS });

/** `newcomer`: a user who must set up two-factor authentication first. */
type Visitor = "anonymous" | "owner" | "operator" | "newcomer";
type PageUrl = string | ((fixture: ConsoleFixture) => string);

/** By route path: the visitor, the expected heading, and the URL if it differs from the path. */
const PAGES: Record<string, [Visitor, string | RegExp, PageUrl?][]> = {
  "/sign-in": [["anonymous", "Sign in"]],
  "/two-factor-required": [
    ["newcomer", "Set up two-factor authentication"],
    ["newcomer", "Set up two-factor authentication", "/jobs"],
  ],
  "/request-account": [["anonymous", "Request an account"]],
  "/account-request": [["anonymous", "A question about your request", linkTo("account-request")]],
  "/register": [
    ["anonymous", "Register", linkTo("register")],
    ["anonymous", "This link is no longer valid", "/register"],
  ],
  "/invitation": [["anonymous", /^Join agent /, linkTo("invitation")]],
  "/forgotten-password": [["anonymous", "Reset your password"]],
  "/reset-password": [["anonymous", "Choose a new password", linkTo("reset-password")]],
  "/": [
    ["owner", "Dashboard"],
    ["operator", "Dashboard"],
  ],
  "/jobs": [
    ["owner", "Jobs"],
    ["operator", "Jobs"],
    ["owner", "Jobs", "/jobs?q=nothing-like-it"],
  ],
  "/jobs/$markingNumber": [
    ["owner", /^MN-/, ({ markingNumber }) => `/jobs/${markingNumber}`],
    ["owner", "Job not found", "/jobs/NOWHERE"],
  ],
  "/integrations/keys": [["owner", "API keys"]],
  "/integrations/endpoints": [["owner", "Webhook endpoints"]],
  "/integrations/endpoints/$id": [["owner", /^http/, ({ ids }) => `/integrations/endpoints/${ids.endpoint}`]],
  "/integrations/deliveries": [["owner", "Deliveries"]],
  "/integrations/deliveries/$id": [
    ["owner", "webhook.test", ({ ids }) => `/integrations/deliveries/${ids.delivery}`],
    ["owner", "webhook.test", ({ ids }) => `/integrations/deliveries/${ids.failedDelivery}`],
  ],
  "/integrations/requests": [["owner", "Request log"]],
  "/integrations/usage": [["owner", "Usage"]],
  "/simulator": [["owner", "This page belongs to test mode"]],
  "/members": [
    ["owner", "Members"],
    ["operator", "Operators"],
  ],
  "/audit": [["owner", "Audit log"]],
  "/security": [["owner", "Security"]],
  "/$": [["owner", "Page not found", "/nowhere/at/all"]],
  "/operator/requests": [["operator", "Account requests"]],
  "/operator/requests/$id": [
    ["operator", "Mill Lane Couriers", ({ ids }) => `/operator/requests/${ids.request}`],
  ],
  "/operator/organizations": [["operator", "Organisations"]],
  "/operator/organizations/$id": [
    ["operator", /^agent /, ({ ids }) => `/operator/organizations/${ids.organization}`],
  ],
  "/operator/import": [["operator", "Import jobs"]],
  "/operator/statuses": [["operator", "Statuses"]],
  "/operator/endpoints": [["operator", "Failing endpoints"]],
  "/operator/mail": [["operator", "Mail"]],
  "/operator/audit": [["operator", "Audit log"]],
  "/operator/tasks": [["operator", "Tasks"]],
};

/** Paths that redirect to the first page of their section. */
const REDIRECTS = ["/integrations", "/operator"];

const opened = new AsyncDisposableStack();
let browser: Browser;
let fixture: ConsoleFixture;
let tabs: Record<Visitor, Tab>;

beforeAll(async () => {
  browser = opened.adopt(await startBrowser(), (instance) => instance.close());
  fixture = opened.use(await createConsoleFixture());
  const { app, owner, operator, member } = fixture;
  const strict = opened.use(await startAppInstance(app.databaseUrl, { REQUIRE_TWO_FACTOR: "all" }));
  tabs = {
    anonymous: await openTab(browser, app),
    owner: await openTab(browser, app, { user: owner }),
    operator: await openTab(browser, app, { user: operator }),
    newcomer: await openTab(browser, strict, { user: member }),
  };
});
afterAll(() => opened.disposeAsync());

it("covers every route of the console", async () => {
  const { page } = tabs.anonymous;
  await page.goto("/sign-in");
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
  const paths = await page.evaluate<string[]>("Object.keys(__TSR_ROUTER__.routesByPath)");
  const routePaths = paths.map((path) => path.replace(/(?<=.)\/$/, ""));
  const expected = [...new Set(routePaths)].toSorted();
  expect([...Object.keys(PAGES), ...REDIRECTS].toSorted()).toEqual(expected);
  // Each has a page of the guide, which the help menu links.
  expect(Object.keys(screenGuides).toSorted()).toEqual(expected);
});

const cases = Object.entries(PAGES).flatMap(([path, visits]) =>
  visits.map(([visitor, heading, url = path]) => ({ path, visitor, heading, url })),
);

describe("has no axe violations, horizontal scroll or page errors, in light and dark at 360 and 1280 px", () => {
  // evidence: console-pages-accessible
  it.each(cases)("$path ($heading), as $visitor", async ({ visitor, heading, url }) => {
    const { page, pageErrors } = tabs[visitor];
    pageErrors.length = 0;
    await page.setViewportSize(DESKTOP);
    await page.emulateMedia({ colorScheme: "light" });
    await load(page, typeof url === "string" ? url : url(fixture));
    await page.getByRole("heading", { level: 1, name: heading, exact: true }).waitFor();
    await settled(page);

    const problems: string[] = [];
    const canSignOut = await page.getByRole("button", { name: "Sign out" }).isVisible();
    if (canSignOut !== (visitor !== "anonymous"))
      problems.push(`"Sign out" is ${canSignOut ? "" : "not "}visible`);
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme });
      await page.locator(`html[data-mantine-color-scheme=${colorScheme}]`).waitFor();
      for (const viewport of [DESKTOP, PHONE]) {
        await page.setViewportSize(viewport);
        await settled(page);
        const violations = await findAccessibilityViolations(page, { colorsAlone: colorScheme === "dark" });
        const overflow = (await widthOf(page)) > viewport.width ? ["scrolls horizontally"] : [];
        problems.push(
          ...[...violations, ...overflow].map(
            (problem) => `${colorScheme}, ${viewport.width} px: ${problem}`,
          ),
        );
      }
    }
    expect([...problems, ...pageErrors]).toEqual([]);
  });
});

/** Loads about:blank first, because a URL that differs only in its fragment would not reload the page. */
async function load(page: Page, url: string): Promise<void> {
  await page.goto("about:blank");
  await page.goto(url);
}

/** Waits until requests and animations have finished and the layout has been updated. */
async function settled(page: Page): Promise<void> {
  const count = `document.querySelectorAll("[aria-busy=true]").length + document.getAnimations().length`;
  await expect.poll(() => page.evaluate<number>(count), { timeout: 30_000 }).toBe(0);
  await page.evaluate(
    "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done())))",
  );
}

function widthOf(page: Page): Promise<number> {
  return page.evaluate<number>("document.documentElement.scrollWidth");
}

function linkTo(page: keyof ConsoleFixture["tokens"]): PageUrl {
  return ({ tokens }) => `/${page}#token=${tokens[page]}`;
}
