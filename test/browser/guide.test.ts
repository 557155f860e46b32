/** Texts that others write into the guide and GraphiQL, and the test key that the guide shows to its owner only. */
import { describe, expect, it } from "vitest";
import type { TestUser } from "../support/accounts/session-client.ts";
import { expectData, expectFailure } from "../support/app/assertions.ts";
import { findPageProblems } from "../support/browser/axe.ts";
import {
  graphiqlUrl,
  openGraphiql,
  openRecordingTab,
  readQuery,
  readVariables,
} from "../support/browser/graphiql.ts";
import { createAgent } from "../support/browser/console.fixture.ts";
import { startConsole } from "../support/browser/shared-console.ts";
import { expectVisible, openTab, type Tab } from "../support/browser/tabs.ts";
import { eventually } from "../support/eventually.ts";

const app = await startConsole();

async function open(path: string, user?: TestUser): Promise<Tab> {
  const tab = await openTab(app, user && { user });
  await tab.page.goto(path);
  return tab;
}

// evidence: guide-search-text-only
it("the search shows any query as text", async () => {
  const { page, pageErrors } = await open("/guide/");
  await page.keyboard.press("/");
  for (const query of [
    "<img src=x onerror=alert(1)>",
    '"><script>alert(1)</script>',
    "${7*7}",
    "\\",
    "💥".repeat(100),
    "%00",
  ]) {
    await page.getByRole("combobox", { name: "Search the guide" }).fill(query);
    const results = page.locator("[role=option], [role=status]:has-text('No results for')");
    await expectVisible(results.first());
    expect(await page.locator("dialog img, dialog script").count()).toBe(0);
  }
  expect(pageErrors).toEqual([]);
});

it("a search result is a link: a middle click and Ctrl with a click are left to the browser", async () => {
  const { page } = await open("/guide/");
  await page.keyboard.press("/");
  await page.getByRole("combobox", { name: "Search the guide" }).fill("idempotency");
  const first = page.getByRole("option").first();
  await expectVisible(first);
  const url = await first.evaluate((link) => (link as HTMLAnchorElement).href);
  expect(new URL(url).pathname).toMatch(/^\/guide\/./);
  // The browser opens the tab unless a script has prevented it. Chromium without a screen sometimes opens none.
  await page.evaluate(() => {
    const opened: boolean[] = [];
    Object.assign(globalThis, { opened });
    for (const type of ["click", "auxclick"])
      document.addEventListener(type, (event) => {
        if (!(event as MouseEvent).ctrlKey && (event as MouseEvent).button === 0) return;
        opened.push(!event.defaultPrevented);
        event.preventDefault();
      });
  });
  await first.click({ button: "middle" });
  await first.click({ modifiers: ["Control"] });
  expect(await page.evaluate(() => (globalThis as { opened?: boolean[] }).opened)).toEqual([true, true]);
  expect(new URL(page.url()).pathname).toBe("/guide/");
  await first.click();
  await page.waitForURL(url);
});

it("each page links the changelog at its foot", async () => {
  const { page } = await open("/guide/webhooks/verify");
  await page.locator("footer").getByRole("link", { name: "Changelog" }).click();
  await page.waitForURL("**/guide/changelog");
  await expectVisible(page.getByRole("heading", { name: "Changelog", level: 1 }));
});

describe("a test key", () => {
  it("is created for a signed-in owner and shown in the samples, in this tab only", async () => {
    const { user: owner } = await createAgent(app);
    const { page, context, pageErrors } = await open("/guide/quickstart", owner);
    await page.getByRole("button", { name: "Use a test key" }).click();
    const shown = page.getByRole("region", { name: "API key of the samples" });
    await expectVisible(shown.getByText("Your test key sees only test data."));
    const sample = (await page.locator("pre", { hasText: "export WAYMARK_KEY=" }).textContent()) ?? "";
    const key = /'(wmk_test_[\w-]+)'/.exec(sample)?.[1] ?? "";
    expect(await findPageProblems(page)).toEqual([]);
    const data = expectData(await app.call("/v1/me", { key }));
    expect(data).toMatchObject({ mode: "test", api_key: { name: "Samples of the guide" } });

    await page.goto("/guide/jobs");
    await expectVisible(shown.getByText(`export WAYMARK_KEY='${key}'`));
    const other = await context.newPage();
    await other.goto("/guide/jobs");
    await expectVisible(other.getByRole("button", { name: "Use a test key" }));
    const sent = await fetch(`${app.url}/guide/jobs`, { headers: { cookie: owner.client.cookie } });
    expect(await sent.text()).not.toContain("wmk_test_");

    await context.setOffline(true);
    await shown.getByRole("button", { name: "Revoke it" }).click();
    await expectVisible(
      shown.getByText("The key may still be valid. The server can’t be reached. Try again."),
    );
    await context.setOffline(false);
    await shown.getByRole("button", { name: "Revoke it" }).click();
    await expectVisible(page.getByRole("button", { name: "Use a test key" }));
    expect(await page.locator("body").textContent()).not.toContain(key);
    await eventually(async () => expectFailure(await app.call("/v1/me", { key }), 401));
    await page.reload();
    await expectVisible(page.getByRole("button", { name: "Use a test key" }));
    expect(pageErrors).toEqual([expect.stringContaining("ERR_INTERNET_DISCONNECTED")]);
  });

  it("is not created for a reader who is not signed in: the page links the sign-in", async () => {
    const { page } = await open("/guide/quickstart");
    await page.getByRole("button", { name: "Use a test key" }).click();
    const link = page.getByRole("link", { name: "Sign in to the console" });
    await expectVisible(link);
    expect(await link.evaluate((anchor: HTMLAnchorElement) => anchor.href)).toBe(`${app.url}/sign-in`);
  });

  it("is not created for a member: the page says why", async () => {
    const { user: member } = await createAgent(app, { role: "dispatcher" });
    const { page } = await open("/guide/quickstart", member);
    await page.getByRole("button", { name: "Use a test key" }).click();
    await expectVisible(page.getByText(/The server refused: .*keys:manage/));
  });
});

describe("a link to GraphiQL", () => {
  it("runs no mutation, and sets no header", async () => {
    const tab = await openRecordingTab(app);
    const query = 'mutation Hostile { revokeApiKey(id: "key_1") { userErrors { message } } }';
    await openGraphiql(
      tab,
      graphiqlUrl({ query, operationName: "Hostile", headers: '{"x-api-key":"hostile"}' }),
    );
    expect(await readQuery(tab.page)).toBe(query);
    expect(tab.operations.filter((each) => each.includes("Hostile"))).toEqual([]);
    expect(await tab.page.content()).not.toContain('x-api-key":"hostile');
  });

  it(
    "shows no operation that is too long, or has characters that a reader can't see",
    { tags: "long" },
    async () => {
      const tab = await openRecordingTab(app);
      const operations = [
        `{ viewer { kind } } # ${"x".repeat(10_000)}`,
        "{ viewer \u202E{ kind } }",
        "{ viewer\u200B { kind } }",
        "{ viewer\u0000 { kind } }",
      ];
      for (const query of operations) {
        await openGraphiql(tab, graphiqlUrl({ query }));
        const shown = await readQuery(tab.page);
        expect(shown).toBe("# The link to this page has an operation that can't be shown.");
      }
    },
  );

  it("shows no variables that are too long or no JSON object", { tags: "long" }, async () => {
    const tab = await openRecordingTab(app);
    const html = "<img src=x onerror=alert(1)>";
    for (const variables of ["{", "[1]", "null", '"text"', html, `{"a":"${"x".repeat(10_000)}"}`]) {
      await openGraphiql(tab, graphiqlUrl({ query: "{ viewer { kind } }", variables }));
      expect(await readQuery(tab.page)).toBe("{ viewer { kind } }");
      expect([variables, await readVariables(tab.page)]).toEqual([variables, ""]);
    }
    expect(tab.pageErrors.filter((error) => !error.includes("401"))).toEqual([]);
  });

  it("shows markup as text", async () => {
    const tab = await openRecordingTab(app);
    const query = "# <img src=x onerror=alert(1)></script><script>alert(1)</script>\n{ viewer { kind } }";
    await openGraphiql(tab, graphiqlUrl({ query }));
    expect(await readQuery(tab.page)).toBe(query);
    expect(await tab.page.locator("img[src=x]").count()).toBe(0);
  });
});
