/** Routes of the OpenAPI document and the reference page. */
import { createHash } from "node:crypto";
import { Router, type RequestHandler } from "express";
import { AppError } from "../../core/errors.ts";
import { pathPrefix } from "../../core/public-url.ts";
import { matchesEtag } from "../json.ts";
import { addRoute } from "../add-route.ts";
import { pagePolicy } from "../default-headers.ts";
import { readAsset, referencePage } from "./page.ts";
import { createOpenApiDocument } from "../rest/openapi/documents.ts";

const sendAsset: RequestHandler = (request, response) => {
  const asset = readAsset(String(request.params["name"]));
  if (!asset) throw new AppError("NotFoundException", "The reference page has no such file");
  // While two releases run side by side, a request for the other version gets this one, uncached.
  const isCurrent = request.params["version"] === asset.version;
  response.setHeader("Cache-Control", isCurrent ? "public, max-age=31536000, immutable" : "no-store");
  response.type(asset.type).send(asset.content);
};

export interface DocsSettings {
  publicUrl: string | null;
}

export function docsRoutes({ publicUrl }: DocsSettings): Router {
  const prefix = pathPrefix(publicUrl);
  // Created by the first request, because most processes never get one.
  let page: string | undefined;

  const sendPage: RequestHandler = (_request, response) => {
    page ??= referencePage(prefix);
    response.setHeader("Cache-Control", "no-cache");
    response.setHeader("Content-Security-Policy", pagePolicy());
    response.type("html").send(page);
  };

  const router = Router({ caseSensitive: true });
  const route = (path: string, handler: RequestHandler): void => {
    const pattern = path.replaceAll(/:(\w+)/g, "{$1}");
    addRoute(router, { path, name: pattern }, { get: [handler] });
  };
  route("/openapi.json", sendDocument(publicUrl));
  route("/docs", sendPage);
  route("/docs/assets/:version/:name", sendAsset);
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
