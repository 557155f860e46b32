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
const notFound = createRoute({
  getParentRoute: () => consoleRoute,
  path: "$",
  component: NotFoundPage,
});

/** For owners: members may not read it. */
const audit = createRoute({
  getParentRoute: () => consoleRoute,
  path: "audit",
  staticData: { access: "integrations" },
  component: lazyRouteComponent(
    () => import("../pages/audit/organization-audit.page.tsx"),
    "OrganizationAuditPage",
  ),
});

export const membersRoutes = [members, audit, security, notFound];
