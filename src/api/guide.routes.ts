/** The guide: pages that the build rendered from `docs/`, their Markdown, and texts for language models. */
import { Router, type RequestHandler, type Response } from "express";
import { GUIDE_URL_PLACEHOLDER, NOT_FOUND_FILE, SAMPLE_BASE_URL, SANDBOX_LINK } from "../guide/api.ts";
import { pathPrefix } from "../core/public-url.ts";
import { addRoute } from "./add-route.ts";
import { builtFolder, readBuiltFile, sendAssets, sendNotBuilt } from "./built-files.ts";
import { tagRoute } from "./context.ts";
import { pagePolicy } from "./default-headers.ts";

/** Letters, digits and hyphens between slashes: no page has another name, and nothing outside the folder can be read. */
const PAGE_PATH = /^[a-z\d-]+(\/[a-z\d-]+)*$/;

export interface GuideSettings {
  publicUrl: string | null;
  /** Production has no Apollo Sandbox, so pages don't link it. */
  isProduction: boolean;
  /** Returns the URL of a page of the service; "" is its base URL, for samples. */
  pageUrl: (path: string) => string;
}

/** Returns the routes of the guide built in `folder`. */
export function guideRoutes(
  { publicUrl, isProduction, pageUrl }: GuideSettings,
  folder: URL = builtFolder("guide"),
): Router {
  const guideUrl = `${pathPrefix(publicUrl)}/guide`;

  /** Sends a text of the build with the server's own URL in samples. Returns false if the file does not exist. */
  const sendText = async (response: Response, type: string, name: string): Promise<boolean> => {
    const built = (await readBuiltFile(new URL(name, folder)))?.toString("utf8");
    if (built === undefined) return false;
    const text = isProduction ? built.replaceAll(SANDBOX_LINK, "") : built;
    response.setHeader("Cache-Control", "no-cache");
    // Operators type their samples on the server itself.
    const isLocal = name.startsWith("operate/");
    response.type(type).send(isLocal ? text : text.replaceAll(SAMPLE_BASE_URL, pageUrl("")));
    return true;
  };

  const sendNotFound = async (response: Response): Promise<void> => {
    const page = await readBuiltFile(new URL(NOT_FOUND_FILE, folder));
    if (!page) return sendNotBuilt(response, "guide");
    response.status(404).type("html");
    response.send(page.toString("utf8").replaceAll(GUIDE_URL_PLACEHOLDER, guideUrl));
  };

  const sendPage: RequestHandler = async (request, response) => {
    response.setHeader("Content-Security-Policy", pagePolicy());
    const path = [request.params["page"] ?? []].flat().join("/") || "index";
    const name = path.replace(/\.md$/, "");
    const [type, file] = path === name ? ["html", `${name}.html`] : ["text/markdown", path];
    const isSent = PAGE_PATH.test(name) && (await sendText(response, type, file));
    if (!isSent) await sendNotFound(response);
  };

  const sendFile =
    (type: string, name: string): RequestHandler =>
    async (_request, response, next) => {
      if (!(await sendText(response, type, name))) next();
    };

  const router = Router({ caseSensitive: true, strict: true });
  const route = (path: string | string[], handler: RequestHandler): void =>
    addRoute(router, path, { get: [handler] });
  route("/guide", (_request, response) => response.redirect(308, `${guideUrl}/`));
  router.use("/guide/assets", tagRoute("/{name}"), sendAssets(folder));
  route(["/guide/*page", "/guide/"], sendPage);
  route("/llms.txt", sendFile("text/plain", "llms.txt"));
  route("/llms-full.txt", sendFile("text/plain", "llms-full.txt"));
  return router;
}
