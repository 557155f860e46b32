/** The guide: its pages, their Markdown, the texts for language models, and unknown paths. */
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { guide } from "../../src/console/app/guide/guide-pages.ts";
import { guidePaths } from "../support/docs/guide-pages.ts";
import { startAppInstance, type AppInstance } from "../support/app/app-instance.ts";
import { sharedApp, type SharedApp } from "../support/app/shared-app.ts";
import { queryData } from "../support/graphql/client.ts";
import { startTestReceiver } from "../support/webhooks/receiver.ts";
import { BUILD_TIMEOUT_MS, buildSite } from "../support/site.ts";

/** Of a page with everything that it loads before the reader does something, without its pictures. */
const MAX_FIRST_PAGE_BYTES = 60_000;

let shared: SharedApp;
let app: AppInstance;
beforeAll(async () => {
  await buildSite();
  shared = await sharedApp("api");
  app = await startAppInstance(shared.databaseUrl, {
    WAYMARK_ROLE: "api",
    PUBLIC_URL: "https://api.example.com/waymark",
    WEBHOOK_ALLOW_PRIVATE: "on",
  });
}, BUILD_TIMEOUT_MS);
afterAll(() => app[Symbol.asyncDispose]());

async function open(path: string) {
  const response = await fetch(app.url + path, { redirect: "manual" });
  const { status, headers } = response;
  return { status, headers, type: headers.get("content-type"), body: await response.text() };
}

const assetsIn = (html: string): string[] =>
  [...html.matchAll(/(?:src|href)="((?:\.\.\/)*assets\/[^"]+)"/g)].map(([, url = ""]) => url);

describe("200", () => {
  it.each(guidePaths)("/guide/%s is a page with its Markdown", async (path) => {
    const page = await open(`/guide/${path}`);
    expect(page).toMatchObject({ status: 200, type: "text/html; charset=utf-8" });
    expect(page.body).toMatch(/<h1[^>]*>/);
    const markdown = await open(`/guide/${path || "index"}.md`);
    expect(markdown).toMatchObject({ status: 200, type: "text/markdown; charset=utf-8" });
    expect(markdown.body).toMatch(/^# /);
  });

  // evidence: guide-content-security-policy
  it("allows a page to load from this server only, without inline code", async () => {
    const { headers, body } = await open("/guide/quickstart");
    expect(headers.get("content-security-policy")).toMatch(
      /^default-src 'none'; script-src 'self'; style-src 'self'/,
    );
    expect(body).not.toMatch(/<script>|<style|style="|onclick/);
  });

  it("shows the public URL in samples, and keeps no other", async () => {
    for (const path of ["/guide/quickstart", "/guide/quickstart.md", "/llms-full.txt"]) {
      const { body } = await open(path);
      expect(body).toContain("https://api.example.com/waymark/v1/jobs");
      expect(body).not.toContain("http://127.0.0.1:4000");
    }
  });

  it("lists every page for language models", async () => {
    const { type, body } = await open("/llms.txt");
    expect(type).toBe("text/plain; charset=utf-8");
    expect(
      body.match(/^- \[.+\]\(https:\/\/api\.example\.com\/waymark\/guide\/.+\.md\): .+$/gm),
    ).toHaveLength(guidePaths.length);
    expect(body).toContain("(https://api.example.com/waymark/llms-full.txt)");
  });

  it.each(guidePaths)(
    `loads /guide/%s with at most ${MAX_FIRST_PAGE_BYTES} bytes, compressed`,
    async (path) => {
      const { body } = await open(`/guide/${path}`);
      const urls = assetsIn(body).filter((url) => !url.endsWith(".png"));
      const assets = await Promise.all(
        urls.map((url) => open(new URL(url, `http://x/guide/${path}`).pathname)),
      );
      expect(assets.length).toBeGreaterThan(3);
      for (const { status, headers } of assets)
        expect([status, headers.get("cache-control")]).toEqual([200, "public, max-age=31536000, immutable"]);
      const sizes = [body, ...assets.map((asset) => asset.body)].map((text) => gzipSync(text).length);
      expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(MAX_FIRST_PAGE_BYTES);
    },
  );
});

it.each(Object.values(guide))("serves /guide/$target, which the console links", async ({ target }) => {
  const [path = "", id] = target.split("#");
  const { status, body } = await open(`/guide/${path}`);
  expect(status).toBe(200);
  expect(body).toContain(id === undefined ? "<h1" : ` id="${id}"`);
});

it("has the page that the User-Agent of a webhook names", async () => {
  await using receiver = await startTestReceiver();
  const { key } = await shared.createOrganization("agent");
  const create = `mutation ($url: String!) {
    createWebhookEndpoint(input: { url: $url }) { endpoint { id } userErrors { message } } }`;
  const { createWebhookEndpoint } = await queryData(app, create, { key, variables: { url: receiver.url } });
  const { id } = createWebhookEndpoint.endpoint as { id: string };
  await queryData(app, `mutation { sendTestEvent(endpointId: "${id}") { userErrors { message } } }`, { key });
  const { headers } = await receiver.next();
  const [, url = ""] = /^Waymark-Webhooks\/1\.0 \(\+(https:\S+)\)$/.exec(headers["user-agent"] ?? "") ?? [];
  expect(url).toMatch(/^https:\/\/api\.example\.com\/waymark\/guide\//);
  const page = await open(url.replace("https://api.example.com/waymark", ""));
  expect(page).toMatchObject({ status: 200, type: "text/html; charset=utf-8" });
  expect(page.body).toContain(
    "Waymark-Webhooks/1.0 (+https://api.example.com/waymark/guide/webhooks/quickstart)",
  );
});

it("308 leads from /guide to its first page", async () => {
  const { status, headers } = await open("/guide");
  expect([status, headers.get("location")]).toEqual([308, "/waymark/guide/"]);
});

describe("404", () => {
  it.each([
    "/guide/nope",
    "/guide/not-found",
    "/guide/_not-found",
    "/guide/webhooks",
    "/guide/a/b/c",
    "/guide/jobs/",
    "/guide/JOBS",
    "/guide/..%2fguide%2fjobs",
    "/guide/jobs.html",
    "/guide/search.json",
  ])("%s shows a page with the contents and the search", async (path) => {
    const { status, type, body } = await open(path);
    expect([status, type]).toEqual([404, "text/html; charset=utf-8"]);
    expect(body).toContain("Page not found");
    expect(body).toContain('href="/waymark/guide/quickstart"');
    expect(body).toContain("search-button");
  });

  it.each([
    "/guide/assets/0/guide.css",
    "/guide/assets/..%2f..%2f/package.json",
    "/guide/assets/x/..%2findex.html",
  ])("%s has no file", async (path) => {
    expect((await open(path)).status).toBe(404);
  });
});

it("405 for other methods than GET and HEAD", async () => {
  const response = await fetch(`${app.url}/guide/jobs`, { method: "POST" });
  expect([response.status, response.headers.get("allow")]).toEqual([405, "GET, HEAD"]);
});
