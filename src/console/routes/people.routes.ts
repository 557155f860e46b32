/** Members, one's own security, and addresses that lead nowhere. */
import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { NotFoundPage } from "../pages/not-found.page.tsx";
import { consoleRoute } from "./root.route.tsx";

const members = createRoute({
  getParentRoute: () => consoleRoute,
  path: "members",
  component: lazyRouteComponent(() => import("../pages/members/members.page.tsx"), "MembersPage"),
});

const security = createRoute({
  getParentRoute: () => consoleRoute,
  path: "security",
  component: lazyRouteComponent(() => import("../pages/security/security.page.tsx"), "SecurityPage"),
});

/** Every other address: told inside the shell, with the way back at hand. */
const nowhere = createRoute({
  getParentRoute: () => consoleRoute,
  path: "$",
  component: NotFoundPage,
});

export const peopleRoutes = [members, security, nowhere];
