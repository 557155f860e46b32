/** Routes of the OpenAPI document and the reference page. */
import { createHash } from "node:crypto";
import { basename } from "node:path";
import { fileURLToPath } from "node:url";
import { Router, type RequestHandler } from "express";
import { AppError } from "../../core/errors.ts";
import { pathPrefix } from "../../core/public-url.ts";
import { matchesEtag } from "../json.ts";
import { addRoute } from "../add-route.ts";
import { pagePolicy } from "../default-headers.ts";
import { createOpenApiDocument } from "../rest/openapi/documents.ts";

const assets = new Map(
  [
    import.meta.resolve("swagger-ui-dist/swagger-ui.css"),
    import.meta.resolve("swagger-ui-dist/swagger-ui-bundle.js"),
    import.meta.resolve("./page.css"),
    import.meta.resolve("./theme.css"),
    import.meta.resolve("./page.mjs"),
  ].map((url) => [basename(url), fileURLToPath(url)]),
);

const sendAsset: RequestHandler = (request, response) => {
  const file = assets.get(String(request.params["name"]));
  if (file === undefined) throw new AppError("NotFoundException", "The reference page has no such file");
  response.setHeader("Cache-Control", "no-cache");
  response.sendFile(file, { cacheControl: false, acceptRanges: false });
};

export interface DocsSettings {
  publicUrl: string | null;
}

export function docsRoutes({ publicUrl }: DocsSettings): Router {
  const prefix = pathPrefix(publicUrl);
  const page = referencePage(prefix);

  const sendPage: RequestHandler = (_request, response) => {
    response.setHeader("Cache-Control", "no-cache");
    response.setHeader("Content-Security-Policy", pagePolicy());
    response.type("html").send(page);
  };

  const router = Router({ caseSensitive: true });
  addRoute(router, "/openapi.json", { get: [sendDocument(publicUrl)] });
  addRoute(router, "/docs", { get: [sendPage] });
  addRoute(router, "/docs/assets/:name", { get: [sendAsset] });
  return router;
}

/** A host that no service has. */
const BASE_URL_PLACEHOLDER = "https://base.invalid";

/**
 * Returns a handler that sends the OpenAPI document, or 304 if `If-None-Match` matches. Express itself never sends 304 to clients
 * that send `Cache-Control: no-cache`, as `fetch` does. Without `publicUrl` the URLs have the origin of the request.
 */
function sendDocument(publicUrl: string | null): RequestHandler {
  let template: string | undefined;
  // Only the last one: clients choose the Host, and another document takes a millisecond.
  let document: { baseUrl: string; text: string; etag: string } | undefined;
  return (request, response) => {
    // HTTP/1.0 has no Host.
    const baseUrl = publicUrl ?? `${request.protocol}://${request.host ?? "localhost"}`;
    if (document?.baseUrl !== baseUrl) {
      template ??= JSON.stringify(createOpenApiDocument(BASE_URL_PLACEHOLDER));
      const text = template.replaceAll(BASE_URL_PLACEHOLDER, () => JSON.stringify(baseUrl).slice(1, -1));
      document = { baseUrl, ...withEtag(text) };
    }
    response.setHeader("Cache-Control", "no-cache");
    response.setHeader("ETag", document.etag);
    if (matchesEtag(request, document.etag)) response.status(304).end();
    else response.type("json").send(document.text);
  };
}

/** The ETag is weak: the body may be sent compressed. */
function withEtag(text: string): { text: string; etag: string } {
  const hash = createHash("sha256").update(text).digest("base64url");
  return { text, etag: `W/"${hash.slice(0, 22)}"` };
}

/** Returns the HTML of the page around Swagger UI. `prefix` is the path of the public URL: empty, or such as `/waymark`. */
function referencePage(prefix: string): string {
  const assetUrl = (name: string): string => `${prefix}/docs/assets/${name}`;
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
