/** Adds routes with what every route needs: its name in logs and metrics, and 405 with `Allow` for other methods. */
import type { RequestHandler, Router } from "express";
import { tagRoute } from "./context.ts";
import { methodNotAllowed } from "./error-handler.ts";

type RouteMethod = "get" | "post" | "patch" | "delete";

/** The handlers of each method, in order. GET also serves HEAD. */
export type RouteHandlers = Partial<Record<RouteMethod, readonly RequestHandler[]>>;

/**
 * `path` is below the router; `name` is the whole path in OpenAPI's form, such as `/v1/jobs/by-marking/{markingNumber}`.
 * An array of paths has one name.
 */
export function addRoute(
  router: Router,
  { path, name }: { path: string | string[]; name: string },
  handlers: RouteHandlers,
): void {
  const route = router.route(path as string).all(tagRoute(name));
  for (const [method, chain] of Object.entries(handlers)) route[method as RouteMethod](...chain);
  const allowed = Object.keys(handlers).map((method) =>
    method === "get" ? "GET, HEAD" : method.toUpperCase(),
  );
  route.all(methodNotAllowed(allowed.join(", ")));
}
