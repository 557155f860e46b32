import { beforeAll, describe, expect, it } from "vitest";
import { createOpenApiDocument } from "../../src/api/rest/openapi/documents.ts";
import { startTestApp } from "../support/app/app.fixture.ts";
import { sharedApp, type SharedApp } from "../support/app/shared-app.ts";

let app: SharedApp;

beforeAll(async () => {
  app = await sharedApp();
});

/** Returns the URLs of the assets that the page loads. */
async function assetPaths(): Promise<string[]> {
  const page = (await app.request("/docs")).text;
  return [...page.matchAll(/(?:href|src)="(\/docs\/assets\/[^"]+)"/g)].map(([, path]) => path as string);
}

const getAt = async (host: string) => await app.request("/openapi.json", { headers: { host } });

describe("GET /openapi.json", () => {
  it("returns the document without a key", async () => {
    const response = await app.request("/openapi.json");
    expect(response.get("content-type")).toBe("application/json; charset=utf-8");
    const { origin } = new URL(app.url);
    expect(response.body).toEqual(JSON.parse(JSON.stringify(createOpenApiDocument(origin))));
  });

  it("has absolute URLs with the origin of each request, and an ETag for each origin", async () => {
    for (const host of ["localhost:81", "127.0.0.1:82", "localhost:81"]) {
      const { body, text } = await getAt(host);
      expect(body).toMatchObject({ servers: [{ url: `http://${host}/v1` }] });
      const links = [...text.matchAll(/"externalDocs":\{"description":"[^"]*","url":"([^"]*)"/g)];
      expect(links.length).toBeGreaterThan(40);
      expect(links.filter(([, url]) => !url!.startsWith(`http://${host}/guide/`))).toEqual([]);
      expect(text).not.toContain("base.invalid");
    }
    const [one, other] = [await getAt("localhost:81"), await getAt("localhost:82")];
    expect(one.get("etag")).not.toBe(other.get("etag"));
  });

  it("returns 304 for its ETag, and the document for another ETag", async () => {
    const first = await app.request("/openapi.json");
    expect(first.get("cache-control")).toBe("no-cache");
    const etag = first.get("etag") ?? "";
    expect(etag).toMatch(/^W\/"[\w-]{22}"$/);
    const again = await app.request("/openapi.json", { headers: { "if-none-match": etag } });
    expect([again.status, again.text]).toEqual([304, ""]);
    const other = await app.request("/openapi.json", { headers: { "if-none-match": '"other"' } });
    expect(other.status).toBe(200);
  });
});

describe("GET /docs", () => {
  it("returns a page whose CSP allows only this server", async () => {
    const response = await app.request("/docs");
    expect(response.status).toBe(200);
    expect(response.get("content-type")).toBe("text/html; charset=utf-8");
    const policy = response.get("content-security-policy") ?? "";
    expect(policy).toMatch(/default-src 'none'; script-src 'self'; style-src 'self'; .*connect-src 'self'/);
    expect(policy).not.toMatch(/unsafe|https?:|\*/);
  });

  it("names no other host, in the page or its own assets", async () => {
    const own = (await assetPaths()).filter((path) => /\/(page|theme)\./.test(path));
    expect(own).toHaveLength(3);
    for (const path of ["/docs", ...own]) {
      const text = (await app.request(path)).text;
      expect(text.replaceAll(/http(:|%3A)(\/|%2F){2}www\.w3\.org/g, "")).not.toMatch(/https?:\/\//);
    }
  });

  it("has assets for which browsers ask again", async () => {
    const paths = await assetPaths();
    expect(paths).toHaveLength(5);
    for (const path of paths) {
      const response = await app.request(path);
      expect(response.get("cache-control")).toBe("no-cache");
      expect(response.get("content-type")).toMatch(/^text\/(css|javascript); charset=utf-8$/);
      expect(response.text.length).toBeGreaterThan(1000);
      const since = { "if-modified-since": response.get("last-modified") ?? "" };
      expect((await app.request(path, { headers: since })).status).toBe(304);
    }
  });

  // evidence: docs-files-listed-only
  it("serves no other files", async () => {
    for (const name of ["index.html", "..%2Fpackage.json", "%2e%2e%2f%2e%2e%2fpackage.json"]) {
      expect((await app.request(`/docs/assets/${name}`)).status).toBe(404);
    }
  });
});

it("both have the public URL, with any Host", async () => {
  await using behindProxy = await startTestApp({ PUBLIC_URL: "https://example.com/waymark/" });
  const { body, text } = await behindProxy.request("/openapi.json", { headers: { host: "other.example" } });
  expect(body).toMatchObject({ servers: [{ url: "https://example.com/waymark/v1" }] });
  expect(text).not.toMatch(/other\.example|base\.invalid/);
  const page = (await behindProxy.request("/docs")).text;
  expect(page).toMatch(/src="\/waymark\/docs\/assets\/[^"]*page\.mjs"/);
  expect(page).not.toMatch(/(?:href|src)="\/(?!waymark\/)/);
});
