/** The GraphQL examples of the guide, opened in GraphiQL, and links to GraphiQL that are made to deceive. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser, Locator, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { ensureDemo } from "../../src/embedded/demo/demo.ts";
import {
  BROWSER_START_TIMEOUT_MS,
  BROWSER_TIMEOUT_MS,
  openTab,
  startBrowser,
  type Tab,
} from "../support/browser/tabs.ts";
import { startTestApp, type TestApp } from "../support/app/app.fixture.ts";

vi.setConfig({ testTimeout: BROWSER_TIMEOUT_MS, hookTimeout: BROWSER_START_TIMEOUT_MS });

const opened = new AsyncDisposableStack();
let browser: Browser;
let app: TestApp;
let key: string;

beforeAll(async () => {
  browser = opened.adopt(await startBrowser(), (instance) => instance.close());
  app = opened.use(await startTestApp({ WAYMARK_ROLE: "api" }));
  const dataDir = opened.adopt(await mkdtemp(join(tmpdir(), "waymark-examples-")), (folder) =>
    rm(folder, { recursive: true }),
  );
  key = (await ensureDemo({ ...app, dataDir }))?.agent ?? "";
});
afterAll(() => opened.disposeAsync());

/** A tab that records the operations that its pages send to GraphQL. */
async function open(): Promise<Tab & { operations: string[] }> {
  const tab = await openTab(browser, app);
  onTestFinished(() => tab.context.close());
  const operations: string[] = [];
  tab.page.on("request", (request) => {
    if (request.url() === `${app.url}/graphql`)
      operations.push((JSON.parse(request.postData() ?? "{}") as { query: string }).query);
  });
  return { ...tab, operations };
}

/** Returns what the editors show: Monaco renders lines that are visible, with no-break spaces. */
async function readEditor(editor: Locator): Promise<string> {
  const lines = await editor.locator(".view-line").evaluateAll((elements) =>
    elements
      .map((element) => [element.getBoundingClientRect().top, element.textContent] as const)
      .toSorted(([a], [b]) => a - b)
      .map(([, text]) => text),
  );
  return lines.join("\n").replaceAll("\u00A0", " ").trim();
}

const readQuery = (page: Page): Promise<string> => readEditor(page.locator(".graphiql-query-editor"));
/** The editor of headers follows that of variables. */
const readVariables = (page: Page): Promise<string> =>
  readEditor(page.locator(".graphiql-editor-tool .graphiql-editor").first());

/** Waits until the page has loaded the schema, which it always does. */
async function openGraphiql(
  { page, operations }: Awaited<ReturnType<typeof open>>,
  url: string,
): Promise<void> {
  const before = operations.length;
  await page.goto(url);
  await expect.poll(() => operations.length, { timeout: 30_000 }).toBeGreaterThan(before);
  await expect.poll(() => readQuery(page), { timeout: 30_000 }).not.toBe("");
}

const graphiqlUrl = (parameters: Record<string, string>): string =>
  `/graphiql?${new URLSearchParams(parameters).toString()}`;

describe("the examples", () => {
  it("open in GraphiQL with their operation and variables, and run nothing", async () => {
    const tab = await open();
    await tab.page.goto("/guide/graphql/examples");
    const links = await tab.page
      .getByRole("link", { name: "Open in GraphiQL" })
      .evaluateAll((elements) => elements.map((element) => (element as HTMLAnchorElement).href));
    expect(links.length).toBeGreaterThan(10);
    for (const link of links) {
      const parameters = new URL(link).searchParams;
      const query = parameters.get("query") ?? "";
      await openGraphiql(tab, link);
      await expect.poll(() => readQuery(tab.page)).toBe(query);
      const [first = "", second = ""] = (parameters.get("variables") ?? "").split("\n");
      const variables = await readVariables(tab.page);
      expect([link, variables]).toEqual([
        link,
        expect.stringContaining(second === "" ? first : second.trim()),
      ]);
    }
    expect(tab.operations.filter((query) => !query.includes("IntrospectionQuery"))).toEqual([]);
    expect(tab.pageErrors.filter((error) => !error.includes("401"))).toEqual([]);
  });

  it.each(["Late jobs, most overdue first", "History of a job", "Why deliveries fail, and with whom"])(
    "%s: returns data when the reader runs it",
    async (title) => {
      const tab = await open();
      await tab.page.goto("/guide/graphql/examples");
      const example = tab.page.locator(`h3:has-text("${title}") ~ .code .explorers a`).first();
      const link = (await example.getAttribute("href")) ?? "";
      await tab.context.setExtraHTTPHeaders({ "x-api-key": key });
      await tab.page.route("**/graphql", (route, request) =>
        route.continue({ headers: { ...request.headers(), "x-api-key": key } }),
      );
      await openGraphiql(tab, link);
      const response = tab.page.waitForResponse(
        (each) =>
          each.url() === `${app.url}/graphql` && !(each.request().postData() ?? "").includes("__schema"),
      );
      await tab.page.getByRole("button", { name: /^Execute query/ }).click();
      const { data, errors } = (await (await response).json()) as { data: object; errors?: unknown };
      expect(errors).toBeUndefined();
      expect(Object.keys(data).length).toBeGreaterThan(0);
    },
  );
});

describe("a link to GraphiQL", () => {
  it("runs no mutation, and sets no header", async () => {
    const tab = await open();
    const query = 'mutation Hostile { revokeApiKey(id: "key_1") { userErrors { message } } }';
    await openGraphiql(
      tab,
      graphiqlUrl({ query, operationName: "Hostile", headers: '{"x-api-key":"hostile"}' }),
    );
    expect(await readQuery(tab.page)).toBe(query);
    expect(tab.operations.filter((each) => each.includes("Hostile"))).toEqual([]);
    expect(await tab.page.content()).not.toContain('x-api-key":"hostile');
  });

  it("shows no operation that is too long, or has characters that a reader can't see", async () => {
    const tab = await open();
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
  });

  it("shows no variables that are too long or no JSON object", async () => {
    const tab = await open();
    const html = "<img src=x onerror=alert(1)>";
    for (const variables of ["{", "[1]", "null", '"text"', html, `{"a":"${"x".repeat(10_000)}"}`]) {
      await openGraphiql(tab, graphiqlUrl({ query: "{ viewer { kind } }", variables }));
      expect(await readQuery(tab.page)).toBe("{ viewer { kind } }");
      expect([variables, await readVariables(tab.page)]).toEqual([variables, ""]);
    }
    expect(tab.pageErrors.filter((error) => !error.includes("401"))).toEqual([]);
  });

  it("shows markup as text", async () => {
    const tab = await open();
    const query = "# <img src=x onerror=alert(1)></script><script>alert(1)</script>\n{ viewer { kind } }";
    await openGraphiql(tab, graphiqlUrl({ query }));
    expect(await readQuery(tab.page)).toBe(query);
    expect(await tab.page.locator("img[src=x]").count()).toBe(0);
  });
});
