/** The guide in a browser: accessibility, search, language tabs and the colour scheme. */
import { describe, expect, it } from "vitest";
import { findPageProblems } from "../../support/browser/axe.ts";
import { startConsole } from "../../support/browser/shared-console.ts";
import { DESKTOP, expectVisible, openTab, PHONE, type Tab } from "../../support/browser/tabs.ts";
import { guidePaths } from "../../support/docs/guide-pages.ts";

const app = await startConsole();

async function open(path: string, viewport = DESKTOP): Promise<Tab> {
  const tab = await openTab(app, { viewport });
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
        expect([colorScheme, await findPageProblems(page)]).toEqual([colorScheme, []]);
      }
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
