/** The links between the guide, the OpenAPI reference and the GraphQL reference, in the running server. */
import { buildSchema } from "graphql";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { BUILD_TIMEOUT_MS, buildSite } from "../support/site.ts";
import { readSdl } from "../../src/api/graphql/sdl.ts";
import { referenceFiles } from "../../src/guide/contents.ts";
import { parseMarkdown } from "../../src/guide/markdown.ts";
import { startAppInstance, type AppInstance } from "../support/app/app-instance.ts";
import { sharedApp } from "../support/app/shared-app.ts";
import { guidePaths } from "../support/docs/guide-pages.ts";

const PUBLIC_URL = "https://api.example.com/waymark";

let databaseUrl: string;
let app: AppInstance;
/** HTML by the path of the URL. */
let pages: Map<string, string>;

beforeAll(async () => {
  await buildSite();
  ({ databaseUrl } = await sharedApp("api"));
  app = await startAppInstance(databaseUrl, { WAYMARK_ROLE: "api", PUBLIC_URL });
  const entries = guidePaths.map(async (path): Promise<[string, string]> => [
    `/guide/${path}`,
    (await app.request(`/guide/${path}`)).text,
  ]);
  pages = new Map(await Promise.all(entries));
}, BUILD_TIMEOUT_MS);
afterAll(() => app[Symbol.asyncDispose]());

/** Returns the targets of all links of a page as full URLs. */
function linksOf(path: string): URL[] {
  const html = pages.get(path) ?? "";
  return [...html.matchAll(/<a [^>]*?href="([^"]*)"/g)].map(
    ([, href = ""]) =>
      new URL(href.replaceAll("&amp;", "&").replaceAll("&#39;", "'"), `${PUBLIC_URL}${path}`),
  );
}

const hasId = (html: string | undefined, id: string): boolean => html?.includes(` id="${id}"`) ?? false;

/** Returns the path of a URL without that of the public URL. */
const pathOf = (url: URL): string => url.href.slice(PUBLIC_URL.length).split(/[?#]/)[0] ?? "";

interface Entry {
  operationId: string;
  tags: string[];
  externalDocs: { description: string; url: string };
}

interface Document {
  tags: { name: string; externalDocs: { url: string } }[];
  paths: Record<string, Record<string, Entry>>;
  webhooks?: Record<string, Record<string, Entry>>;
}

async function openApiDocument(): Promise<Document> {
  return JSON.parse((await app.request("/openapi.json")).text) as Document;
}

const entriesOf = (items: Document["paths"] = {}): Entry[] => Object.values(items).flatMap(Object.values);

/** Returns the anchors of operations and tags in the reference page. */
function anchorsOf({ tags, paths, webhooks }: Document): string[] {
  return [
    ...tags.map(({ name }) => `#/${name}`),
    ...entriesOf(paths).map(({ operationId, tags: [tag] }) => `#/${String(tag)}/${operationId}`),
    ...entriesOf(webhooks).map(({ operationId }) => `#/webhooks/${operationId}`),
  ];
}

describe("the OpenAPI reference", () => {
  it("links each operation and tag to the guide", async () => {
    const { tags, paths, webhooks } = await openApiDocument();
    const urls = [...tags, ...entriesOf(paths), ...entriesOf(webhooks)].map(
      ({ externalDocs }) => externalDocs.url,
    );
    expect(urls.length).toBeGreaterThan(6);
    const broken = urls.filter((url) => {
      const page = pages.get(pathOf(new URL(url)));
      const [, id] = url.split("#");
      return page === undefined || (id !== undefined && !hasId(page, id));
    });
    expect(broken).toEqual([]);
  });

  it("is linked from the sections that explain its operations", async () => {
    const document = await openApiDocument();
    const operations = [...entriesOf(document.paths), ...entriesOf(document.webhooks)];
    for (const { operationId, externalDocs } of operations) {
      const links = linksOf(pathOf(new URL(externalDocs.url))).map(({ href }) => href);
      expect(links.filter((href) => href.endsWith(`/${operationId}`))).toHaveLength(1);
    }
  });

  it("has every operation and tag that the guide links", async () => {
    const anchors = new Set(anchorsOf(await openApiDocument()));
    const linked = [...pages.keys()]
      .flatMap(linksOf)
      .filter((url) => pathOf(url) === "/docs" && url.hash !== "");
    expect(linked.length).toBeGreaterThan(12);
    expect(linked.filter(({ hash }) => !anchors.has(decodeURIComponent(hash)))).toEqual([]);
  });
});

/** The scalars that every GraphQL schema has need no explanation. */
const UNEXPLAINED = new Set(["Boolean", "Float", "Int", "String"]);

/** Returns the targets of the links from a definition of the GraphQL reference to the sections that explain it. */
function guideLinksOf(reference: string, id: string): string[] {
  const [, rest = ""] = (pages.get(reference) ?? "").split(` id="${id}" `);
  const [definition = ""] = rest.split("</section>");
  const links = definition.matchAll(/<a href="([^"]+)"><b>Guide<\/b> [^<\s]/g);
  return [...links].map(([, href = ""]) => new URL(href, `${PUBLIC_URL}${reference}`).href);
}

describe("the GraphQL reference", () => {
  const roots = buildSchema(readSdl());
  const fields = [
    ["queries", roots.getQueryType()],
    ["mutations", roots.getMutationType()],
    ["subscriptions", roots.getSubscriptionType()],
  ] as const;
  const names = fields.flatMap(([page, type]) =>
    Object.keys(type?.getFields() ?? {}).map((name) => [name, page]),
  );

  it.each(names)("has %s, which the guide and the reference link both ways", (name = "", page = "") => {
    const reference = `/guide/graphql/reference/${page}`;
    const [url = "none"] = guideLinksOf(reference, name);
    const [path = "", id = ""] = url.slice(PUBLIC_URL.length).split("#");
    expect([url, hasId(pages.get(path), id)]).toEqual([url, true]);
    expect(linksOf(path).map(({ href }) => href)).toContain(`${PUBLIC_URL}${reference}#${name}`);
  });

  it.each(Object.keys(referenceFiles))("links each definition of the page %s to the guide", (page) => {
    const reference = `/guide/graphql/reference/${page}`;
    const ids = [...(pages.get(reference) ?? "").matchAll(/<h2 id="([^"]+)"/g)].map(([, id = ""]) => id);
    expect(ids.length).toBeGreaterThan(0);
    const unexplained = ids.filter((id) => guideLinksOf(reference, id).length === 0);
    expect(unexplained.filter((id) => !UNEXPLAINED.has(id))).toEqual([]);
  });

  it("has every type of the schema", () => {
    const types = Object.keys(roots.getTypeMap()).filter((name) => !name.startsWith("__"));
    const defined = [...pages].flatMap(([path, html]) =>
      path.startsWith("/guide/graphql/reference/") ? [html] : [],
    );
    const missing = types.filter((name) => !defined.some((html) => hasId(html, name)));
    expect(missing).toEqual(["Query", "Mutation", "Subscription"]);
  });
});

it.each(guidePaths)("/guide/%s has only links that work", async (path) => {
  const links = linksOf(`/guide/${path}`).filter(({ href }) => href.startsWith(PUBLIC_URL));
  expect(links.length).toBeGreaterThan(20);
  const works = await Promise.all(links.map(isWorking));
  expect(links.filter((_, index) => works[index] !== true).map(({ href }) => href)).toEqual([]);
});

/** Returns the targets of all links and images of a Markdown text as full URLs. */
function markdownTargetsOf(path: string, text: string): URL[] {
  const tokens = parseMarkdown(text).flatMap(({ children }) => children ?? []);
  const urls = tokens.map((token) => token.attrGet(token.type === "image" ? "src" : "href"));
  return urls.flatMap((url) => (url === null ? [] : [new URL(String(url), `${PUBLIC_URL}${path}`)]));
}

async function brokenTargetsOf(path: string): Promise<string[]> {
  const { status, text } = await app.request(path);
  expect(status).toBe(200);
  const targets = markdownTargetsOf(path, text).filter(({ href }) => href.startsWith(PUBLIC_URL));
  const works = await Promise.all(targets.map(isWorking));
  return targets.filter((_, index) => works[index] !== true).map(({ href }) => href);
}

describe("Markdown", () => {
  it.each(guidePaths.map((path) => `/guide/${path || "index"}.md`))(
    "%s has only links and pictures that work",
    async (path) => {
      expect(await brokenTargetsOf(path)).toEqual([]);
    },
  );

  it.each(["/llms.txt", "/llms-full.txt"])("%s has only full URLs, which work", async (path) => {
    expect(await brokenTargetsOf(path)).toEqual([]);
    const { text } = await app.request(path);
    expect(text).not.toMatch(/\]\((?!https?:|mailto:)[^)\s]+\)/);
  });
});

async function isWorking(url: URL): Promise<boolean> {
  const path = pathOf(url);
  // The Markdown of a page has the headings of the page.
  const page = pages.get(path.replace(/^(\/guide\/)index\.md$/, "$1").replace(/\.md$/, ""));
  if (path.endsWith(".md") && (await statusOf(path)) !== 200) return false;
  if (page === undefined) return (await statusOf(pathOf(url))) === 200;
  return url.hash === "" || hasId(page, url.hash.slice(1));
}

const statuses = new Map<string, Promise<number>>();

function statusOf(path: string): Promise<number> {
  const known =
    statuses.get(path) ??
    app.request(path, { headers: { accept: "text/html" } }).then(({ status }) => status);
  statuses.set(path, known);
  return known;
}
