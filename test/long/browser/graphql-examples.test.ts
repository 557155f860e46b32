/** The GraphQL examples of the guide, opened in GraphiQL. */
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { ensureDemo } from "../../../src/dev/demo/demo.ts";
import { startTestApp } from "../../support/app/app.fixture.ts";
import { openGraphiql, openRecordingTab, readQuery, readVariables } from "../../support/browser/graphiql.ts";
import { prepareBrowser } from "../../support/browser/shared-console.ts";

await prepareBrowser();
const app = await startTestApp({ WAYMARK_ROLE: "api" });
await using folder = await mkdtempDisposable(join(tmpdir(), "waymark-examples-"));
const key = (await ensureDemo({ ...app, dataDir: folder.path }))?.agent ?? "";
afterAll(() => app[Symbol.asyncDispose]());

describe("the examples", () => {
  it("open in GraphiQL with their operation and variables, and run nothing", async () => {
    const tab = await openRecordingTab(app);
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
      const tab = await openRecordingTab(app);
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
