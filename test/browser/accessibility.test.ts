/** Every page of the console as axe, a small screen, the dark, and the page's own policy see it. */
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { findAccessibilityViolations } from "../support/browser/axe.ts";
import {
  BROWSER_TIMEOUT_MS,
  DESKTOP,
  startBrowser,
  openTab,
  PHONE,
  type Tab,
} from "../support/browser/tabs.ts";
import { startAppInstance } from "../support/app/app-instance.ts";
import { createConsoleFixture, type ConsoleFixture } from "../support/browser/console.fixture.ts";

vi.setConfig({ testTimeout: BROWSER_TIMEOUT_MS, hookTimeout: BROWSER_TIMEOUT_MS });

/** A newcomer has yet to turn on the second step that their account must have. */
type Who = "nobody" | "owner" | "operator" | "newcomer";
type Address = string | ((world: ConsoleFixture) => string);

/** By the router's path: as whom it is looked at, its heading, and where it is if the path is no address. */
const PAGES: Record<string, [Who, string | RegExp, Address?][]> = {
  "/sign-in": [["nobody", "Sign in"]],
  "/two-factor-required": [
    ["newcomer", "One more step"],
    ["newcomer", "One more step", "/jobs"],
  ],
  "/request-account": [["nobody", "Request an account"]],
  "/account-request": [["nobody", "A question about your request", linkTo("account-request")]],
  "/register": [
    ["nobody", "Register", linkTo("register")],
    ["nobody", "This link is not good any more", "/register"],
  ],
  "/invitation": [["nobody", /^Join agent /, linkTo("invitation")]],
  "/forgotten-password": [["nobody", "Forgotten password"]],
  "/reset-password": [["nobody", "Choose a new password", linkTo("reset-password")]],
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
    ["owner", "There is nothing here", "/jobs/NOWHERE"],
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
  "/members": [
    ["owner", "Members"],
    ["operator", "Operators"],
  ],
  "/audit": [["owner", "Audit log"]],
  "/security": [["owner", "Security"]],
  "/$": [["owner", "There is nothing here", "/nowhere/at/all"]],
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
  "/operator/endpoints": [["operator", "Endpoints in trouble"]],
  "/operator/mail": [["operator", "Mail"]],
  "/operator/audit": [["operator", "Audit log"]],
  "/operator/tasks": [["operator", "Tasks"]],
};

/** They lead on to the first of their pages. */
const REDIRECTS = ["/integrations", "/operator"];

const opened = new AsyncDisposableStack();
let browser: Browser;
let world: ConsoleFixture;
let tabs: Record<Who, Tab>;

beforeAll(async () => {
  browser = opened.adopt(await startBrowser(), (one) => one.close());
  world = opened.use(await createConsoleFixture());
  const { app, owner, operator, member } = world;
  const strict = opened.use(await startAppInstance(app.databaseUrl, { REQUIRE_TWO_FACTOR: "all" }));
  tabs = {
    nobody: await openTab(browser, app),
    owner: await openTab(browser, app, { user: owner }),
    operator: await openTab(browser, app, { user: operator }),
    newcomer: await openTab(browser, strict, { user: member }),
  };
});
afterAll(() => opened.disposeAsync());

it("leaves no page out: these are the routes that the console itself has", async () => {
  const { page } = tabs.nobody;
  await page.goto("/sign-in");
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
  const paths = await page.evaluate<string[]>("Object.keys(__TSR_ROUTER__.routesByPath)");
  const bare = paths.map((path) => path.replace(/(?<=.)\/$/, ""));
  expect([...Object.keys(PAGES), ...REDIRECTS].toSorted()).toEqual([...new Set(bare)].toSorted());
});

const cases = Object.entries(PAGES).flatMap(([path, looks]) =>
  looks.map(([who, heading, address = path]) => ({ path, who, heading, address })),
);

describe("no violation, no sideways scroll and no complaint, light and dark, at 360 and 1280 px", () => {
  // evidence: console-pages-accessible
  it.each(cases)("$path ($heading), as $who", async ({ who, heading, address }) => {
    const { page, pageErrors } = tabs[who];
    pageErrors.length = 0;
    await page.setViewportSize(DESKTOP);
    await page.emulateMedia({ colorScheme: "light" });
    await load(page, typeof address === "string" ? address : address(world));
    await page.getByRole("heading", { level: 1, name: heading, exact: true }).waitFor();
    await settled(page);

    const found: string[] = [];
    const isWayOut = await page.getByRole("button", { name: "Sign out" }).isVisible();
    if (isWayOut !== (who !== "nobody")) found.push(`Sign out is ${isWayOut ? "" : "not "}there`);
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme });
      await page.locator(`html[data-mantine-color-scheme=${colorScheme}]`).waitFor();
      for (const viewport of [DESKTOP, PHONE]) {
        await page.setViewportSize(viewport);
        await settled(page);
        const violations = await findAccessibilityViolations(page, { colorsAlone: colorScheme === "dark" });
        const wide = (await widthOf(page)) > viewport.width ? ["it scrolls sideways"] : [];
        found.push(
          ...[...violations, ...wide].map((what) => `${colorScheme}, ${viewport.width} px: ${what}`),
        );
      }
    }
    expect([...found, ...pageErrors]).toEqual([]);
  });
});

/** A link of a mail differs from the page before in its fragment alone, perhaps; it is a new visit all the same. */
async function load(page: Page, address: string): Promise<void> {
  await page.goto("about:blank");
  await page.goto(address);
}

/** Nothing is on its way any more, neither data nor colours, and what was drawn for another width is drawn anew. */
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

function linkTo(page: keyof ConsoleFixture["tokens"]): Address {
  return ({ tokens }) => `/${page}#token=${tokens[page]}`;
}
