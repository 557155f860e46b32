/** The HTML around a page: header, contents, headings, and the links to the next and the previous page. */
import { escapeHtml } from "../core/escape-html.ts";
import type { Page } from "./pages.ts";

export interface LayoutInput {
  page: Page;
  pages: readonly Page[];
  content: string;
  /** Folder of the assets, below `/guide/`. */
  assetsPath: string;
  /** Returns the URL, in this page, of what is at `path` below `/guide/`. */
  urlOf: (path: string) => string;
}

/** Returns the URL of `target` (below `/guide/`) relative to the page at `path`. Relative URLs work below any path prefix. */
export function relativeUrl(path: string, target: string): string {
  return "../".repeat(path.split("/").length - 1) + target || "./";
}

export function renderLayout(input: LayoutInput): string {
  const { page, content, assetsPath, urlOf } = input;
  const root = urlOf("");
  const asset = (name: string): string => urlOf(`${assetsPath}/${name}`);
  const isIndex = page.path === "";
  const markdownUrl = urlOf(`${isIndex ? "index" : page.path}.md`);
  return `<!doctype html>
<html lang="en-GB" data-root="${root}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="description" content="${escapeHtml(page.description)}">
<title>${escapeHtml(isIndex ? "Waymark guide" : `${page.title} · Waymark guide`)}</title>
<link rel="icon" href="${asset("icon.svg")}">
<link rel="alternate" type="text/markdown" href="${markdownUrl}">
<link rel="stylesheet" href="${asset("guide.css")}">
<script src="${asset("color-scheme.js")}"></script>
<script src="${asset("guide.mjs")}" type="module"></script>
</head>
<body>
<a class="skip" href="#content">Skip to the page</a>
<header class="bar">
<a class="brand" href="${root}"><img src="${asset("icon.svg")}" alt="" width="22" height="22">Waymark <span>guide</span></a>
<button class="search-button" type="button" hidden><span>Search</span><kbd>/</kbd></button>
<nav class="doors" aria-label="Waymark">
<a href="${root}../docs">REST reference</a>
<a href="${root}graphql/reference/queries">GraphQL reference</a>
<a href="${root}../graphiql">GraphiQL</a>
<a href="${root}../">Console</a>
</nav>
</header>
<div class="columns">
<nav class="contents" aria-label="Guide"><details open><summary>Contents</summary>${renderContents(input)}</details></nav>
<main id="content" tabindex="-1">
<article>
${content}
</article>
${renderNeighbours(input)}
<footer><a href="${markdownUrl}">This page as Markdown</a> · <a href="${root}../llms.txt">llms.txt</a> · <a href="${root}../llms-full.txt">llms-full.txt</a> · <a href="${urlOf("changelog")}">Changelog</a></footer>
</main>
${renderHeadings(page)}
</div>
</body>
</html>
`;
}

function renderContents({ page, pages, urlOf }: LayoutInput): string {
  const groups = Map.groupBy(pages, ({ group }) => group);
  return [...groups]
    .map(([group, members]) => {
      const items = members.map((member) => {
        const current = member === page ? ' aria-current="page"' : "";
        return `<li><a href="${urlOf(member.path)}"${current}>${escapeHtml(member.title)}</a></li>`;
      });
      return `<section><h2>${escapeHtml(group)}</h2><ul>${items.join("")}</ul></section>`;
    })
    .join("\n");
}

function renderHeadings({ sections }: Page): string {
  const headings = sections.filter(({ level }) => level === 2 || level === 3);
  if (headings.length < 2) return "";
  const items = headings.map(
    ({ id, level, title }) => `<li class="level-${level}"><a href="#${id}">${breakable(title)}</a></li>`,
  );
  return `<nav class="headings" aria-label="On this page"><h2>On this page</h2><ul>${items.join("")}</ul></nav>`;
}

/** Returns a title as HTML that lets a long name, such as `jobsByMarkingNumber`, break between its words. */
function breakable(title: string): string {
  return escapeHtml(title).replaceAll(/\w{16,}/g, (name) => name.replaceAll(/(?<=[a-z])(?=[A-Z])/g, "<wbr>"));
}

function renderNeighbours({ page, pages, urlOf }: LayoutInput): string {
  const index = pages.indexOf(page);
  const link = (neighbour: Page | undefined, rel: "prev" | "next", label: string): string =>
    neighbour
      ? `<a rel="${rel}" href="${urlOf(neighbour.path)}"><span>${label}</span>${escapeHtml(neighbour.title)}</a>`
      : "";
  const previous = link(pages[index - 1], "prev", "Previous");
  const next = link(index < 0 ? undefined : pages[index + 1], "next", "Next");
  return previous || next
    ? `<nav class="neighbours" aria-label="Previous and next page">${previous}${next}</nav>`
    : "";
}
