/** True if the user may open a page in a mode, by the rules of its route and of the parents of that route. */
import type { AnyRoute, RegisteredRouter } from "@tanstack/react-router";
import { canVisit } from "../session/access.ts";
import type { Mode } from "../session/mode.ts";
import type { Session } from "../session/session.ts";

export function canOpen(
  { routesByPath }: RegisteredRouter,
  path: keyof RegisteredRouter["routesByPath"],
  session: Session,
  mode: Mode,
): boolean {
  for (
    let route: AnyRoute | undefined = routesByPath[path];
    route;
    route = route.parentRoute as AnyRoute | undefined
  ) {
    const { access = "anyone", onlyIn = mode } = route.options.staticData ?? {};
    if (!canVisit(session, access) || onlyIn !== mode) return false;
  }
  return true;
}
