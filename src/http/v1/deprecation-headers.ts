/** Marks the responses to requests that use something deprecated with `Deprecation`, `Sunset` and `Link`, and counts them. */
import type { Request, RequestHandler } from "express";
import {
  deprecationHeaders,
  type Deprecation,
  type RestTarget,
  type UseRecorder,
} from "../../deprecations/api.ts";
import { contextOf } from "../context.ts";
import { isObject } from "../json.ts";

export interface DeprecationDeps {
  deprecations: readonly Deprecation[];
  useRecorder: Pick<UseRecorder, "record">;
  pageUrl: (path: string) => string;
}

/** Returns the middleware, or null if nothing of REST is deprecated. */
export function markDeprecated({
  deprecations,
  useRecorder,
  pageUrl,
}: DeprecationDeps): RequestHandler | null {
  const byOperation = Map.groupBy(
    deprecations.filter(({ target }) => "operation" in target),
    ({ target }) => (target as RestTarget).operation,
  );
  if (byOperation.size === 0) return null;
  return (request, response, next) => {
    const writeHead = response.writeHead.bind(response) as (...parts: unknown[]) => typeof response;
    // Only then the route is known and the body is read.
    response.writeHead = (...parts: unknown[]) => {
      const method = request.method === "HEAD" ? "GET" : request.method;
      const { route, principal } = contextOf(response);
      const candidates = byOperation.get(`${method} ${route}`) ?? [];
      const used = candidates.filter(({ target }) => isUsed(target as RestTarget, request));
      if (used.length > 0) {
        useRecorder.record(principal, used);
        const { Link = "", ...headers } = deprecationHeaders(used, pageUrl);
        for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
        response.setHeader("Link", [response.getHeader("Link"), Link].filter(Boolean).join(", "));
      }
      return writeHead(...parts);
    };
    next();
  };
}

/** A field of a response is in every response, whether or not the client reads it, so it marks none. */
function isUsed({ part }: RestTarget, request: Request): boolean {
  if (part === undefined) return true;
  if (part.in === "query")
    return new URL(request.originalUrl, "http://localhost").searchParams.has(part.name);
  if (part.in === "header") return request.get(part.name) !== undefined;
  return part.in === "request" && hasField(request.body, part.name.split("."));
}

/** True if `value` has the member at `path`, in which `jobs[]` stands for each item of a list. */
function hasField(value: unknown, [name, ...rest]: string[]): boolean {
  if (name === undefined) return true;
  if (!isObject(value)) return false;
  if (!name.endsWith("[]")) return Object.hasOwn(value, name) && hasField(value[name], rest);
  const items = value[name.slice(0, -2)];
  return Array.isArray(items) && items.some((item) => hasField(item, rest));
}
