/** Adds routes with what every route needs: its name in logs and metrics, and 405 with `Allow` for other methods. */
import type { RequestHandler, Router } from "express";
import { tagRoute } from "./context.ts";
import { methodNotAllowed } from "./error-handler.ts";

type RouteMethod = "get" | "post" | "patch" | "delete";

/** The handlers of each method, in order. GET also serves HEAD. */
export type RouteHandlers = Partial<Record<RouteMethod, readonly RequestHandler[]>>;

/** The name of the route is the first of its paths in OpenAPI's form, such as `/v1/jobs/by-marking/{markingNumber}`. */
export function addRoute(router: Router, paths: string | string[], handlers: RouteHandlers): void {
  const [path = ""] = [paths].flat();
  const name = path.replaceAll(/[:*](\w+)/g, "{$1}");
  const route = router.route(paths as string).all(tagRoute(name));
  for (const [method, chain] of Object.entries(handlers)) route[method as RouteMethod](...chain);
  const allowed = Object.keys(handlers).map((method) =>
    method === "get" ? "GET, HEAD" : method.toUpperCase(),
  );
  route.all(methodNotAllowed(allowed.join(", ")));
}
