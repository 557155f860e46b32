/** Builds the guide from `docs/`: pages, their Markdown, the search index and the texts for language models. */
import { cp, mkdir, readFile, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { buildSchema } from "graphql";
import { readSdl } from "../api/graphql/sdl.ts";
import { createOpenApiDocument } from "../api/rest/openapi/documents.ts";
import { checkSections, explainedTypes, operationLinks, rootFieldLinks } from "./api-links.ts";
import { CHANGELOG_FILE } from "./contents.ts";
import { examplesPage, readExamples } from "./examples-page.ts";
import { relativeUrl, renderLayout } from "./layout.ts";
import type { TargetResolver } from "./markdown.ts";
import { inReadingOrder, markdownPage, readPages, type Page } from "./pages.ts";
import { GUIDE_URL_PLACEHOLDER, NOT_FOUND_FILE, SAMPLE_BASE_URL } from "./placeholders.ts";
import { referencePages } from "./reference-pages.ts";
import { rewriteTargets } from "./rewrite-targets.ts";
import {
  absoluteUrls,
  createResolver,
  htmlUrls,
  markdownPathOf,
  markdownUrls,
  type UrlForm,
} from "./targets.ts";
import MiniSearch from "minisearch";

const DOCS_DIR = fileURLToPath(new URL("../../docs", import.meta.url));
const CHANGELOG = fileURLToPath(new URL("../../CHANGELOG.md", import.meta.url));
const ASSETS = [
  new URL("./assets/guide.css", import.meta.url),
  new URL("./assets/guide.mjs", import.meta.url),
  new URL("./assets/elements.mjs", import.meta.url),
  new URL("./assets/search.mjs", import.meta.url),
  new URL("./assets/test-key.mjs", import.meta.url),
  new URL("./assets/color-scheme.js", import.meta.url),
  new URL("../console/icon.svg", import.meta.url),
];
const MINISEARCH = fileURLToPath(import.meta.resolve("minisearch"));

/** `version` names the folder of the assets, so that browsers may keep them for ever. */
export async function buildGuide(outputDir: string, version: string): Promise<void> {
  const pages = await allPages();
  const links = [...operationLinks(createOpenApiDocument(null)), ...rootFieldLinks(schema)];
  checkSections([...links, ...explainedTypes(schema)], pages);
  const assetsPath = `assets/${version}`;
  const images = new Set<string>();
  const onImage = (file: string): unknown => images.add(file);
  const resolverOf = (page: Page, urls: UrlForm): TargetResolver =>
    createResolver({ page, pages, links, docsDir: DOCS_DIR, assetsPath, onImage, urls });
  const write = async (path: string, content: string): Promise<void> => {
    await mkdir(dirname(join(outputDir, path)), { recursive: true });
    await writeFile(join(outputDir, path), content);
  };
  for (const page of pages) {
    const content = page.render(resolverOf(page, htmlUrls));
    const urlOf = (path: string): string => relativeUrl(page.path, path);
    const html = renderLayout({ page, pages, content, assetsPath, urlOf });
    await write(`${page.path || "index"}.html`, html);
    await write(markdownPathOf(page), rewriteTargets(page.markdown, resolverOf(page, markdownUrls)));
  }
  const absoluteMarkdown = (page: Page): string =>
    rewriteTargets(page.markdown, resolverOf(page, absoluteUrls));
  await write(NOT_FOUND_FILE, renderNotFound(pages, assetsPath));
  await write("llms.txt", renderLlmsTxt(pages));
  await write("llms-full.txt", renderLlmsFullTxt(pages, absoluteMarkdown));
  await write(`${assetsPath}/search.json`, createSearchIndex(pages));
  for (const url of ASSETS) await cp(url, join(outputDir, assetsPath, basename(url.pathname)));
  await write(`${assetsPath}/minisearch.js`, await readFile(MINISEARCH, "utf8"));
  for (const image of images) await cp(join(DOCS_DIR, image), join(outputDir, assetsPath, basename(image)));
}

const schema = buildSchema(readSdl());

/** Returns the pages of `docs/` and the generated ones, in reading order. */
async function allPages(): Promise<Page[]> {
  const written = await readPages(DOCS_DIR);
  const examples = readExamples(written);
  const changelog = markdownPage(CHANGELOG_FILE, await readFile(CHANGELOG, "utf8"));
  return inReadingOrder([...written, examplesPage(examples), ...referencePages(schema, examples), changelog]);
}

const urlFromAnywhere = (path: string): string => `${GUIDE_URL_PLACEHOLDER}/${path}`;

function renderNotFound(pages: readonly Page[], assetsPath: string): string {
  const page: Page = {
    file: "",
    path: "",
    group: "",
    title: "Page not found",
    description: "The guide has no such page.",
    markdown: "",
    sections: [],
    render: () => "",
  };
  const content = `<h1>Page not found</h1>
<p>The guide has no page at this URL. Search for what you need, or pick a page from the contents.</p>
<p><button class="search-button" type="button" hidden>Search the guide</button></p>`;
  return renderLayout({ page, pages, content, assetsPath, urlOf: urlFromAnywhere });
}

/** Options that the browser needs to load the index. `search.mjs` has the same fields. */
const OPTIONS = {
  fields: ["title", "page", "text"],
  storeFields: ["title", "page", "url", "excerpt"],
};
const EXCERPT_LENGTH = 160;

/** The search index of the guide: one document for each section of a page. */
function createSearchIndex(pages: readonly Page[]): string {
  const index = new MiniSearch(OPTIONS);
  for (const page of pages)
    for (const { id, title, text } of page.sections) {
      const url = page.path + (id && `#${id}`);
      index.add({ id: url, url, title, page: page.title, text, excerpt: text.slice(0, EXCERPT_LENGTH) });
    }
  return JSON.stringify(index);
}

/** The format of https://llmstxt.org: a title, a summary and links to Markdown. */
function renderLlmsTxt(pages: readonly Page[]): string {
  const [index] = pages;
  const groups = Map.groupBy(pages, ({ group }) => group);
  const lists = [...groups].map(([group, members]) => {
    const links = members.map(
      (page) => `- [${page.title}](${SAMPLE_BASE_URL}/guide/${markdownPathOf(page)}): ${page.description}`,
    );
    return `## ${group}\n\n${links.join("\n")}`;
  });
  const fullText = `All pages except those under Operate are in one file: [llms-full.txt](${SAMPLE_BASE_URL}/llms-full.txt).`;
  return [`# Waymark`, `> ${index?.description ?? ""}`, fullText, ...lists].join("\n\n") + "\n";
}

/** The pages for partners. Those for operators are linked in `llms.txt`. `markdownOf` returns Markdown with absolute URLs. */
function renderLlmsFullTxt(pages: readonly Page[], markdownOf: (page: Page) => string): string {
  const partnerPages = pages.filter(({ path }) => !path.startsWith("operate/"));
  return partnerPages.map((page) => markdownOf(page).trim()).join("\n\n---\n\n");
}
