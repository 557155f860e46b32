/** The guide in a browser: accessibility, search, language tabs, test keys and the colour scheme. */
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { createTestUser, type TestUser } from "../support/accounts/session-client.ts";
import { findAccessibilityViolations } from "../support/browser/axe.ts";
import {
  BROWSER_START_TIMEOUT_MS,
  BROWSER_TIMEOUT_MS,
  DESKTOP,
  expectVisible,
  openTab,
  PHONE,
  startBrowser,
  type Tab,
} from "../support/browser/tabs.ts";
import { signInUser } from "../support/accounts/signed-in-user.ts";
import { expectData } from "../support/app/assertions.ts";
import { startTestApp, type TestApp } from "../support/app/app.fixture.ts";
import { guidePaths } from "../support/docs/guide-pages.ts";

vi.setConfig({ testTimeout: BROWSER_TIMEOUT_MS, hookTimeout: BROWSER_START_TIMEOUT_MS });

const opened = new AsyncDisposableStack();
let browser: Browser;
let app: TestApp;
beforeAll(async () => {
  browser = opened.adopt(await startBrowser(), (instance) => instance.close());
  app = opened.use(await startTestApp({ WAYMARK_ROLE: "api" }));
});
afterAll(() => opened.disposeAsync());

async function open(path: string, viewport = DESKTOP, user?: TestUser): Promise<Tab> {
  const tab = await openTab(browser, app, { viewport, ...(user && { user }) });
  onTestFinished(() => tab.context.close());
  await tab.page.goto(path);
  return tab;
}

describe.each([
  ["a desktop", DESKTOP],
  ["a phone", PHONE],
])("on %s", (_device, viewport) => {
  it.each([...guidePaths, "nope"])(
    "/guide/%s has no accessibility violation, error or foreign request, in light and dark",
    async (path) => {
      const { page, pageErrors } = await open(`/guide/${path}`, viewport);
      for (const colorScheme of ["light", "dark"] as const) {
        await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
        expect([colorScheme, await findAccessibilityViolations(page)]).toEqual([colorScheme, []]);
      }
      const hasSidewaysScroll = await page.evaluate(
        () => document.documentElement.scrollWidth > document.documentElement.clientWidth,
      );
      expect(hasSidewaysScroll).toBe(false);
      // The browser logs the status of the unknown page.
      expect(pageErrors.filter((error) => !error.includes("404"))).toEqual([]);
    },
  );
});

describe("search", () => {
  it("opens with a key, finds a section, and goes there", async () => {
    const { page, pageErrors } = await open("/guide/webhooks/verify");
    await page.keyboard.press("/");
    await page.getByRole("combobox", { name: "Search the guide" }).fill("retry change twice");
    await expectVisible(page.getByRole("option").first());
    await page.keyboard.press("Enter");
    await expect
      .poll(() => page.url())
      .toBe(`${app.url}/guide/updating#retry-without-applying-a-change-twice`);
    expect(pageErrors).toEqual([]);
  });

  it("shows the results of a query at once, without a request, once its index is loaded", async () => {
    const { page } = await open("/guide/");
    await page.keyboard.press("/");
    const field = page.getByRole("combobox", { name: "Search the guide" });
    await field.fill("webhook");
    await expectVisible(page.getByRole("option").first());
    const requests: string[] = [];
    page.on("request", (request) => requests.push(request.url()));
    const queries = ["signature", "limits", "cursor", "retry", "marking number"];
    const results = await field.evaluate((input: HTMLInputElement, texts: string[]) => {
      const list = document.querySelector("#search-results");
      return texts.map((text) => {
        input.value = text;
        input.dispatchEvent(new Event("input"));
        return list?.textContent.toLowerCase() ?? "";
      });
    }, queries);
    for (const [n, query] of queries.entries()) expect(results[n]).toContain(query.split(" ")[0]);
    expect(requests).toEqual([]);
  });

  // evidence: guide-search-text-only
  it.each([
    "<img src=x onerror=alert(1)>",
    '"><script>alert(1)</script>',
    "${7*7}",
    "\\",
    "💥".repeat(100),
    "%00",
  ])("shows any query as text: %s", async (query) => {
    const { page, pageErrors } = await open("/guide/");
    await page.keyboard.press("/");
    await page.getByRole("combobox", { name: "Search the guide" }).fill(query);
    await expectVisible(page.locator("[role=option], [role=status]:has-text('No results for')").first());
    expect(await page.locator("dialog img, dialog script").count()).toBe(0);
    expect(pageErrors).toEqual([]);
  });

  it("finds a page from the page for unknown paths, at any depth", async () => {
    const { page } = await open("/guide/webhooks/no/such/page");
    await page.getByRole("main").getByRole("button", { name: "Search the guide" }).click();
    await page.getByRole("combobox", { name: "Search the guide" }).fill("retry change twice");
    await page.getByRole("option").first().click();
    await expect
      .poll(() => page.url())
      .toBe(`${app.url}/guide/updating#retry-without-applying-a-change-twice`);
    await expectVisible(page.getByRole("heading", { name: "Retry without applying a change twice" }));
  });

  it("names the failure if its index cannot be loaded", async () => {
    const { page } = await open("/guide/");
    await page.route("**/search.json", (route) => route.abort());
    await page.keyboard.press("/");
    await expectVisible(page.getByText("The search index could not be loaded."));
  });
});

it("has links to the next and the previous page", async () => {
  const { page } = await open("/guide/");
  const neighbours = page.getByRole("navigation", { name: "Previous and next page" });
  await neighbours.getByRole("link", { name: "Next Quickstart" }).click();
  await expect.poll(() => page.url()).toBe(`${app.url}/guide/quickstart`);
  await neighbours.getByRole("link", { name: "Next Authentication" }).click();
  await expect.poll(() => page.url()).toBe(`${app.url}/guide/authentication`);
  await neighbours.getByRole("link", { name: "Previous Quickstart" }).click();
  await expect.poll(() => page.url()).toBe(`${app.url}/guide/quickstart`);
});

it("language tabs remember the choice, on this page and the next", async () => {
  const { page } = await open("/guide/quickstart");
  await page.getByRole("tab", { name: "Python" }).first().click();
  expect(await page.getByText("items = waymark.jobs.list_page(").isVisible()).toBe(true);
  expect(await page.getByText("job = waymark.jobs.update(").isVisible()).toBe(true);
  await page.goto("/guide/jobs");
  expect(await page.getByRole("tab", { name: "Python", selected: true }).count()).toBeGreaterThan(1);
});

describe("a test key", () => {
  it.each([
    ["a desktop", DESKTOP],
    ["a phone", PHONE],
  ])(
    "is created for a signed-in owner and shown in the samples, in this tab only, on %s",
    async (_device, viewport) => {
      const { id } = await app.createOrganization("agent");
      const owner = await createTestUser(app, { organizationId: id, role: "owner" });
      const { page, context, pageErrors } = await open("/guide/quickstart", viewport, owner);
      await page.getByRole("button", { name: "Use a test key" }).click();
      const shown = page.getByRole("region", { name: "API key of the samples" });
      await expectVisible(shown.getByText("Your test key sees only test data."));
      const sample = (await page.locator("pre", { hasText: "export WAYMARK_KEY=" }).textContent()) ?? "";
      const key = /'(wmk_test_[\w-]+)'/.exec(sample)?.[1] ?? "";
      expect(await findAccessibilityViolations(page)).toEqual([]);
      const data = expectData(await app.call("/v1/me", { key }));
      expect(data).toMatchObject({ mode: "test", api_key: { name: "Samples of the guide" } });

      await page.goto("/guide/jobs");
      await expectVisible(shown.getByText(`export WAYMARK_KEY='${key}'`));
      const other = await context.newPage();
      await other.goto("/guide/jobs");
      await expectVisible(other.getByRole("button", { name: "Use a test key" }));
      const { headers } = await signInUser(app, owner);
      const sent = await fetch(`${app.url}/guide/jobs`, { headers: { cookie: headers["cookie"] ?? "" } });
      expect(await sent.text()).not.toContain("wmk_test_");

      await shown.getByRole("button", { name: "Forget it" }).click();
      expect(await page.locator("body").textContent()).not.toContain(key);
      await page.reload();
      await expectVisible(page.getByRole("button", { name: "Use a test key" }));
      expect(pageErrors).toEqual([]);
    },
  );

  it("is not created for a reader who is not signed in: the page links the sign-in", async () => {
    const { page } = await open("/guide/quickstart");
    await page.getByRole("button", { name: "Use a test key" }).click();
    const link = page.getByRole("link", { name: "Sign in to the console" });
    await expectVisible(link);
    expect(await link.evaluate((anchor: HTMLAnchorElement) => anchor.href)).toBe(`${app.url}/sign-in`);
  });

  it("is not created for a member: the page says why", async () => {
    const { id } = await app.createOrganization("agent");
    const member = await createTestUser(app, { organizationId: id, role: "member" });
    const { page } = await open("/guide/quickstart", DESKTOP, member);
    await page.getByRole("button", { name: "Use a test key" }).click();
    await expectVisible(page.getByText(/The server created no key: .*keys:manage/));
  });
});

it("copies a sample", async () => {
  const { page, context } = await open("/guide/authentication");
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.getByRole("button", { name: "Copy" }).first().click();
  await expectVisible(page.getByRole("button", { name: "Copied" }));
  expect(await page.evaluate(() => navigator.clipboard.readText())).toContain(
    `"${app.url}/v1/jobs?page_size=1"`,
  );
});

it("shares the colour scheme with the console", async () => {
  const { page } = await open("/guide/");
  const scheme = page.getByRole("button", { name: /colours$/ });
  await scheme.click();
  await scheme.click();
  expect(await scheme.textContent()).toBe("Dark colours");
  await page.goto("/sign-in");
  expect(await page.locator("html").getAttribute("data-mantine-color-scheme")).toBe("dark");
});
