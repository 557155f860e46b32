/** The OpenAPI document and the reference page that shows it: everything comes from this server. */
import { Router, type RequestHandler } from "express";
import { AppError } from "../platform/errors.ts";
import { pathPrefix } from "../platform/page-address.ts";
import { contextOf } from "./context.ts";
import { readAsset, referencePage } from "./docs/page.ts";
import { methodNotAllowed } from "./error-handler.ts";
import { createOpenApiDocument } from "./v1/openapi.ts";

/** Scripts, styles and connections of this origin alone; Swagger UI draws its icons from `data:` addresses. */
const PAGE_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

const sendAsset: RequestHandler<{ version: string; name: string }> = (request, response) => {
  const asset = readAsset(request.params.name);
  if (!asset) throw new AppError("NotFoundException", "The reference page has no such file");
  // Another version is asked for while processes of two releases stand side by side: it gets what there is, for now.
  const isCurrent = request.params.version === asset.version;
  response.setHeader("Cache-Control", isCurrent ? "public, max-age=31536000, immutable" : "no-store");
  response.type(asset.type).send(asset.content);
};

export function docsRoutes({ publicUrl }: { publicUrl: string | null }): Router {
  const prefix = pathPrefix(publicUrl);
  // Both are made on the first request: most processes are never asked.
  let document: string | undefined;
  let page: string | undefined;

  const sendDocument: RequestHandler = (_request, response) => {
    document ??= JSON.stringify(createOpenApiDocument(publicUrl));
    response.setHeader("Cache-Control", "no-cache");
    response.type("json").send(document);
  };

  const sendPage: RequestHandler = (_request, response) => {
    page ??= referencePage(prefix);
    response.setHeader("Cache-Control", "no-cache");
    response.setHeader("Content-Security-Policy", PAGE_POLICY);
    response.type("html").send(page);
  };

  const router = Router({ caseSensitive: true });
  const route = (path: string, handler: RequestHandler<never>): void => {
    router.route(path).all(named(path)).get(handler).all(methodNotAllowed("GET, HEAD"));
  };
  route("/openapi.json", sendDocument);
  route("/docs", sendPage);
  route("/docs/assets/:version/:name", sendAsset);
  return router;
}

function named(path: string): RequestHandler {
  const name = path.replaceAll(/:(\w+)/g, "{$1}");
  return (_request, response, next) => {
    contextOf(response).route = name;
    next();
  };
}
