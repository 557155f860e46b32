/** The console: one page for every address that a browser goes to, and the files that the page asks for. */
import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { extname } from "node:path";
import { Router, type Request, type RequestHandler, type Response } from "express";
import { AppError } from "../platform/errors.ts";
import { pathPrefix } from "../platform/public-url.ts";
import { contextOf } from "./context.ts";
import { methodNotAllowed } from "./error-handler.ts";

/** Where `npm run build` puts it. */
const BUILD_FOLDER = new URL("../../.console/", import.meta.url);

/** What the build has written in the place of the nonce. */
const NONCE_PLACEHOLDER = "WAYMARK_NONCE";

/** Addresses that answer programs: what is unknown below them is told in the envelope, to browsers too. */
const SERVER_PATHS =
  /^\/(v1|graphql|graphiql|auth|docs|openapi\.json|health|metrics|console-api|assets|operator\/agenda)(\/|$)/;

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  ".css": "text/css; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".svg": "image/svg+xml",
  ".woff2": "font/woff2",
};

/** As the build has written them beside each file, the smallest first. */
const ENCODINGS = [
  ["br", ".br"],
  ["gzip", ".gz"],
] as const;

/** Everything of this origin alone; Mantine's own style elements and the one script in the page carry the nonce. */
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

/** `folder` is where the built console lies. */
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
    // It is read each time: a build of another moment may have taken its place, and it is small.
    const page = await readBuildFile(new URL("index.html", folder));
    if (page) renderPage(response, page.toString("utf8"), base);
    else response.status(503).type("html").send(NOT_BUILT_PAGE);
  };
}

/** A browser that was pointed at an address: programs that ask for JSON keep getting the envelope. */
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
    // A name and no path: nothing outside the folder can be asked for.
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

function tagRoute(route: string): RequestHandler {
  return (_request, response, next) => {
    contextOf(response).route = route;
    next();
  };
}

const NOT_BUILT_PAGE = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Waymark</title>
<h1>The console is not built</h1>
<p>The API is running: its reference is at <a href="docs">/docs</a>.</p>
<p>To have the console too, run <code>npm run build</code> and load this page again.</p>
</html>
`;
