/** GraphiQL, served completely from this server, for networks that cannot reach Apollo's servers. */
import { escapeHtml } from "../../../core/escape-html.ts";
import { readFileSync } from "node:fs";
import { extname } from "node:path";
import { Router, type RequestHandler } from "express";
import { AppError } from "../../../core/errors.ts";
import { pathPrefix } from "../../../core/public-url.ts";
import { addRoute } from "../../add-route.ts";
import { exampleDocument } from "./sandbox.ts";

/** Allows only this origin. The editor also needs inline styles and `data:` URLs. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "worker-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "font-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

export interface GraphiqlDeps {
  /** The API key that the header editor shows first. */
  explorerKey: () => string | null;
  publicUrl: string | null;
}

export function graphiqlRoutes({ explorerKey, publicUrl }: GraphiqlDeps): Router {
  // 9 MB, loaded on the first request because most processes never serve them.
  let assets: Promise<ReadonlyMap<string, string>> | undefined;

  const sendPage: RequestHandler = (_request, response) => {
    response.setHeader("Content-Security-Policy", CONTENT_SECURITY_POLICY);
    response.setHeader("Cache-Control", "no-store");
    response.type("html").send(page(pathPrefix(publicUrl), explorerKey()));
  };

  const sendAsset: RequestHandler = async ({ params }, response) => {
    const name = String(params["name"]);
    const text = (await (assets ??= readAssets())).get(name);
    if (text === undefined) throw new AppError("NotFoundException", "GraphiQL has no file of this name");
    response.setHeader("Cache-Control", "public, max-age=3600");
    response.type(extname(name)).send(text);
  };

  const router = Router({ caseSensitive: true });
  addRoute(router, "/graphiql", { get: [sendPage] });
  addRoute(router, "/graphiql/assets/:name", { get: [sendAsset] });
  return router;
}

async function readAssets(): Promise<ReadonlyMap<string, string>> {
  const graphiql = await import("@graphql-yoga/render-graphiql/graphiql");
  return new Map([
    ["graphiql.js", graphiql.js],
    ["graphiql.css", graphiql.css],
    ["editor-worker.js", graphiql.editorWorkerService],
    ["json-worker.js", graphiql.jsonWorker],
    ["graphql-worker.js", graphiql.graphqlWorker],
    ["page.js", readFileSync(new URL("./graphiql-page.mjs", import.meta.url), "utf8")],
  ]);
}

function page(prefix: string, key: string | null): string {
  const assets = `${prefix}/graphiql/assets`;
  const options = {
    assets,
    endpoint: `${prefix}/graphql`,
    query: exampleDocument,
    headers: JSON.stringify({ "x-api-key": key ?? "your key" }, null, 2),
  };
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Waymark GraphiQL</title>
<link rel="icon" href="data:image/svg+xml,${encodeURIComponent(ICON)}">
<link rel="stylesheet" href="${assets}/graphiql.css">
<script src="${assets}/graphiql.js" defer></script>
<script src="${assets}/page.js" type="module"></script>
</head>
<body class="no-focus-outline">
<noscript>This page needs JavaScript.</noscript>
<div id="root" data-options="${escapeHtml(JSON.stringify(options))}"></div>
</body>
</html>
`;
}

const ICON =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24" width="20" height="20">' +
  '<path fill="#1f6feb" d="M12 1.5a8 8 0 0 0-8 8c0 5.6 8 13 8 13s8-7.4 8-13a8 8 0 0 0-8-8z"/>' +
  '<path fill="none" stroke="#fff" stroke-width="2.2" stroke-linecap="round" stroke-linejoin="round" d="m8.5 9.7 2.5 2.5 4.5-4.7"/></svg>';
