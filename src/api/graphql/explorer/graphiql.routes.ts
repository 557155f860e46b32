/** GraphiQL, served completely from this server, for networks that cannot reach Apollo's servers. */
import { escapeHtml } from "../../../core/escape-html.ts";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
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

const SCRIPT_TYPE = "text/javascript; charset=utf-8";

interface Assets {
  /** A hash of the content, so that browsers can cache the files forever. */
  readonly version: string;
  readonly files: ReadonlyMap<string, { content: Buffer; type: string }>;
}

export interface GraphiqlDeps {
  /** The API key that the header editor shows first. */
  explorerKey: () => string | null;
  publicUrl: string | null;
}

export function graphiqlRoutes({ explorerKey, publicUrl }: GraphiqlDeps): Router {
  const prefix = pathPrefix(publicUrl);
  // 9 MB, loaded on the first request because most processes never serve them.
  let assetsPromise: Promise<Assets> | undefined;
  const assets = (): Promise<Assets> => (assetsPromise ??= readAssets());

  const sendPage: RequestHandler = async (_request, response) => {
    const { version } = await assets();
    response.setHeader("Content-Security-Policy", CONTENT_SECURITY_POLICY);
    response.setHeader("Cache-Control", "no-store");
    response.type("html").send(page(prefix, version, explorerKey()));
  };

  const sendAsset: RequestHandler = async ({ params }, response) => {
    const { version, files } = await assets();
    const file = files.get(String(params["name"]));
    if (!file) throw new AppError("NotFoundException", "GraphiQL has no file of this name");
    // During a rolling update a page may request files of another release. It gets the current file, uncached.
    const isCurrent = params["version"] === version;
    response.setHeader("Cache-Control", isCurrent ? "public, max-age=31536000, immutable" : "no-store");
    response.type(file.type).send(file.content);
  };

  const router = Router({ caseSensitive: true });
  addRoute(router, "/graphiql", { get: [sendPage] });
  addRoute(router, "/graphiql/assets/:version/:name", { get: [sendAsset] });
  return router;
}

async function readAssets(): Promise<Assets> {
  const graphiql = await import("@graphql-yoga/render-graphiql/graphiql");
  const texts: [name: string, text: string, type: string][] = [
    ["graphiql.js", graphiql.js, SCRIPT_TYPE],
    ["graphiql.css", graphiql.css, "text/css; charset=utf-8"],
    ["editor-worker.js", graphiql.editorWorkerService, SCRIPT_TYPE],
    ["json-worker.js", graphiql.jsonWorker, SCRIPT_TYPE],
    ["graphql-worker.js", graphiql.graphqlWorker, SCRIPT_TYPE],
    ["page.js", readFileSync(new URL("./graphiql-page.mjs", import.meta.url), "utf8"), SCRIPT_TYPE],
  ];
  const hash = createHash("sha256");
  for (const [, text] of texts) hash.update(text);
  return {
    version: hash.digest("hex").slice(0, 12),
    files: new Map(texts.map(([name, text, type]) => [name, { content: Buffer.from(text), type }])),
  };
}

function page(prefix: string, version: string, key: string | null): string {
  const assets = `${prefix}/graphiql/assets/${version}`;
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
