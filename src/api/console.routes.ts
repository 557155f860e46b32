/** The console: one page for all its URLs, and the assets of the page. */
import { randomBytes } from "node:crypto";
import { Router, type Request, type RequestHandler, type Response } from "express";
import type { AccountServices } from "../accounts/api.ts";
import { withTimeout } from "../core/concurrency/timeout.ts";
import { pathPrefix } from "../core/public-url.ts";
import { builtFolder, readBuiltFile, sendAssets, sendNotBuilt } from "./built-files.ts";
import { contextOf, tagRoute } from "./context.ts";
import { pagePolicy } from "./default-headers.ts";
import { readPageSession } from "./console/routes.ts";

/** Written by the build, replaced by the nonce of each response. */
const NONCE_PLACEHOLDER = "WAYMARK_NONCE";

const MAX_SESSION_MS = 2_000;

/** Paths of the API and its documents. Unknown paths below them return 404 in the envelope, to browsers too. */
const SERVER_PATHS =
  /^\/(v1|graphql|graphiql|auth|docs|guide|sdk|llms\.txt|llms-full\.txt|openapi\.json|health|metrics|console-api|assets|operator\/agenda)(\/|$)/;

interface ConsoleServices {
  readonly accounts: Pick<AccountServices, "hasPasskeys" | "sessionVerifier">;
  readonly config: { readonly http: { readonly publicUrl: string | null } };
}

/** Returns the routes of the console built in `folder`. */
export function consoleRoutes(
  { accounts, config }: ConsoleServices,
  folder: URL = builtFolder("console"),
): Router {
  const router = Router({ caseSensitive: true });
  router.use("/assets", tagRoute("/{name}"), sendAssets(folder));
  const base = `${pathPrefix(config.http.publicUrl)}/`;
  router.use(sendPage(folder, base, (request) => readPageSession(accounts, request)));
  return router;
}

function sendPage(
  folder: URL,
  base: string,
  readSession: (request: Request) => Promise<object | null>,
): RequestHandler {
  return async (request, response, next) => {
    if (!isNavigation(request)) {
      next();
      return;
    }
    contextOf(response).route = "console";
    // The page contains the session.
    response.setHeader("Cache-Control", "no-store");
    // Read each time, because a new build may have replaced it.
    const page = await readBuiltFile(new URL("index.html", folder));
    if (!page) {
      sendNotBuilt(response, "console");
      return;
    }
    // If that fails or takes long, the page asks for the session, and shows the error.
    const session = await withTimeout(readSession(request), MAX_SESSION_MS).catch(() => undefined);
    renderPage(response, page.toString("utf8").replace('<base href="/"', `<base href="${base}"`), session);
  };
}

/** True if a browser opens a page. Clients that accept JSON get the envelope instead. */
function isNavigation({ method, path, headers }: Request): boolean {
  const isReading = method === "GET" || method === "HEAD";
  return isReading && (headers.accept?.includes("text/html") ?? false) && !SERVER_PATHS.test(path);
}

/** `session`: in the page, so that the console can show something before another request; undefined if it could not be read. */
function renderPage(response: Response, page: string, session: object | null | undefined): void {
  const nonce = randomBytes(16).toString("base64");
  // Mantine's style elements and the inline script of the page carry the nonce.
  const own = `'self' 'nonce-${nonce}'`;
  const policy = { "script-src": own, "style-src": own, "font-src": "'self'" };
  response.setHeader(
    "Content-Security-Policy",
    pagePolicy({ ...policy, "base-uri": "'self'", "form-action": "'self'" }),
  );
  const json = JSON.stringify(session)?.replaceAll("<", String.raw`\u003c`);
  const script = `<script nonce="${nonce}" type="application/json" id="session">${json}</script>`;
  response
    .type("html")
    .send(
      page
        .replaceAll(NONCE_PLACEHOLDER, nonce)
        .replace("</head>", () => `${json === undefined ? "" : script}</head>`),
    );
}
