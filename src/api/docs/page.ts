/** The API reference page around Swagger UI, and its assets, whose URLs contain a version. */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";

export interface PageAsset {
  content: Buffer;
  type: string;
  /** Hash of the content, so that browsers may cache the file for ever. */
  version: string;
}

const files = new Map([
  ["swagger-ui.css", new URL(import.meta.resolve("swagger-ui-dist/swagger-ui.css"))],
  ["swagger-ui-bundle.js", new URL(import.meta.resolve("swagger-ui-dist/swagger-ui-bundle.js"))],
  ["page.css", new URL("./page.css", import.meta.url)],
  ["theme.css", new URL("./theme.css", import.meta.url)],
  ["page.mjs", new URL("./page.mjs", import.meta.url)],
]);

const assets = new Map<string, PageAsset>();

/** Returns an asset of the page, cached after the first read; null if there is none of that name. */
export function readAsset(name: string): PageAsset | null {
  const file = files.get(name);
  if (file === undefined) return null;
  const cached = assets.get(name);
  if (cached) return cached;
  const content = readFileSync(file);
  const version = createHash("sha256").update(content).digest("hex").slice(0, 12);
  const asset = {
    content,
    type: name.endsWith(".css") ? "text/css; charset=utf-8" : "text/javascript; charset=utf-8",
    version,
  };
  assets.set(name, asset);
  return asset;
}

/** Returns the HTML of the page. `prefix` is the path of the public URL: empty, or such as `/waymark`. */
export function referencePage(prefix: string): string {
  const assetUrl = (name: string): string => `${prefix}/docs/assets/${readAsset(name)?.version}/${name}`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Waymark API reference</title>
<link rel="icon" href="data:image/svg+xml,${encodeURIComponent(ICON)}">
<link rel="stylesheet" href="${assetUrl("swagger-ui.css")}">
<link rel="stylesheet" href="${assetUrl("page.css")}">
<link rel="stylesheet" href="${assetUrl("theme.css")}">
<script src="${assetUrl("swagger-ui-bundle.js")}" defer></script>
<script src="${assetUrl("page.mjs")}" type="module"></script>
</head>
<body data-prefix="${prefix}">
<a class="skip" href="#reference">Skip to the reference</a>
<header class="bar">
<span class="brand">${ICON}Waymark</span>
<nav class="doors" aria-label="Waymark">
<a href="${prefix}/guide/">Guide</a>
<a class="wide" href="${prefix}/guide/graphql/reference/queries">GraphQL reference</a>
<a href="${prefix}/openapi.json">openapi.json</a>
</nav>
</header>
<div class="layout">
<nav class="contents" aria-label="Operations"><details open><summary>Operations</summary><div id="contents"></div></details></nav>
<div id="reference" tabindex="-1"><noscript><p>This page needs JavaScript; <a href="${prefix}/openapi.json">openapi.json</a> has the same content.</p></noscript></div>
</div>
</body>
</html>
`;
}

const ICON =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24" width="20" height="20" aria-hidden="true">' +
  '<path fill="#1f6feb" d="M12 1.5a8 8 0 0 0-8 8c0 5.6 8 13 8 13s8-7.4 8-13a8 8 0 0 0-8-8z"/>' +
  '<path fill="none" stroke="#fff" stroke-width="2.2" stroke-linecap="round" stroke-linejoin="round" d="m8.5 9.7 2.5 2.5 4.5-4.7"/></svg>';
