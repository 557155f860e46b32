/** The console: one page for all its URLs, and the assets of the page. */
import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { extname } from "node:path";
import { Router, type Request, type RequestHandler, type Response } from "express";
import { AppError } from "../platform/errors.ts";
import { pathPrefix } from "../platform/public-url.ts";
import { contextOf, tagRoute } from "./context.ts";
import { methodNotAllowed } from "./error-handler.ts";

/** Output folder of `npm run build`. */
const BUILD_FOLDER = new URL("../../.console/", import.meta.url);

/** Written by the build, replaced by the nonce of each response. */
const NONCE_PLACEHOLDER = "WAYMARK_NONCE";

/** Paths of the API and its documents. Unknown paths below them return 404 in the envelope, to browsers too. */
const SERVER_PATHS =
  /^\/(v1|graphql|graphiql|auth|docs|openapi\.json|health|metrics|console-api|assets|operator\/agenda)(\/|$)/;

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  ".css": "text/css; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".svg": "image/svg+xml",
  ".woff2": "font/woff2",
};

/** Compressed variants of each file written by the build, smallest first. */
const ENCODINGS = [
  ["br", ".br"],
  ["gzip", ".gz"],
] as const;

/** Allows only this origin. Mantine's style elements and the inline script of the page carry the nonce. */
function contentSecurityPolicy(nonce: string): string {
  return [
    "default-src 'none'",
    `script-src 'self' 'nonce-${nonce}'`,
    `style-src 'self' 'nonce-${nonce}'`,
    "img-src 'self' data:",
    "font-src 'self'",
    "connect-src 'self'",
    "base-uri 'self'",
    "form-action 'self'",
    "frame-ancestors 'none'",
  ].join("; ");
}

/** Returns the routes of the console built in `folder`. */
export function consoleRoutes(
  { publicUrl }: { publicUrl: string | null },
  folder: URL = BUILD_FOLDER,
): Router {
  const router = Router({ caseSensitive: true });
  router
    .route("/assets/:name")
    .all(tagRoute("/assets/{name}"))
    .get(sendAsset(new URL("assets/", folder)))
    .all(methodNotAllowed("GET, HEAD"));
  router.use(sendPage(folder, `${pathPrefix(publicUrl)}/`));
  return router;
}

function sendPage(folder: URL, base: string): RequestHandler {
  return async (request, response, next) => {
    if (!isNavigation(request)) {
      next();
      return;
    }
    contextOf(response).route = "console";
    response.setHeader("Cache-Control", "no-cache");
    // Read each time, because a new build may have replaced it.
    const page = await readBuildFile(new URL("index.html", folder));
    if (page) renderPage(response, page.toString("utf8"), base);
    else response.status(503).type("html").send(NOT_BUILT_PAGE);
  };
}

/** True if a browser opens a page. Clients that accept JSON get the envelope instead. */
function isNavigation({ method, path, headers }: Request): boolean {
  const isReading = method === "GET" || method === "HEAD";
  return isReading && (headers.accept?.includes("text/html") ?? false) && !SERVER_PATHS.test(path);
}

function renderPage(response: Response, page: string, base: string): void {
  const nonce = randomBytes(16).toString("base64");
  response.setHeader("Content-Security-Policy", contentSecurityPolicy(nonce));
  response
    .type("html")
    .send(page.replaceAll(NONCE_PLACEHOLDER, nonce).replace('<base href="/"', `<base href="${base}"`));
}

function sendAsset(folder: URL): RequestHandler<{ name: string }> {
  return async (request, response) => {
    const { name } = request.params;
    const type = CONTENT_TYPES[extname(name)];
    // Accept only file names, so that nothing outside the folder can be read.
    const uncompressed =
      type === undefined || !/^[\w.-]+$/.test(name) ? null : await readBuildFile(new URL(name, folder));
    if (type === undefined || uncompressed === null)
      throw new AppError("NotFoundException", "The console has no such file");
    response.setHeader("Cache-Control", "public, max-age=31536000, immutable");
    response.setHeader("Vary", "Accept-Encoding");
    const [encoding, suffix] = ENCODINGS.find(([each]) => request.acceptsEncodings(each) === each) ?? [];
    const compressed = suffix === undefined ? null : await readBuildFile(new URL(name + suffix, folder));
    if (compressed && encoding !== undefined) response.setHeader("Content-Encoding", encoding);
    response.type(type).send(compressed ?? uncompressed);
  };
}

async function readBuildFile(file: URL): Promise<Buffer | null> {
  return await readFile(file).catch((error: unknown) => {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return null;
    throw error;
  });
}

const NOT_BUILT_PAGE = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Waymark</title>
<h1>The console is not built</h1>
<p>The API is running; see its reference at <a href="docs">/docs</a>.</p>
<p>To use the console, run <code>npm run build</code> and reload this page.</p>
</html>
`;
