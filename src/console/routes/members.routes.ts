/** Routes for members, the audit log, account security, notifications and unknown paths. */
import { createRoute, redirect } from "@tanstack/react-router";
import { lazyPage } from "../app/lazy-page.ts";
import { NotFoundPage } from "../pages/not-found.page.tsx";
import { consoleRoute } from "./root.route.tsx";

const members = createRoute({
  getParentRoute: () => consoleRoute,
  path: "members",
  staticData: { onlyIn: "live" },
  component: lazyPage(() => import("../pages/members/members.page.tsx"), "MembersPage"),
});

const security = createRoute({
  getParentRoute: () => consoleRoute,
  path: "security",
  staticData: { onlyIn: "live" },
  component: lazyPage(() => import("../pages/security/security.page.tsx"), "SecurityPage"),
});

/** Operators belong to no organisation and get none. */
const notifications = createRoute({
  getParentRoute: () => consoleRoute,
  path: "notifications",
  staticData: { access: "organization", onlyIn: "live" },
  component: lazyPage(() => import("../pages/notifications/notifications.page.tsx"), "NotificationsPage"),
});

/** Any other path: "not found" inside the shell. */
const notFound = createRoute({
  getParentRoute: () => consoleRoute,
  path: "$",
  component: NotFoundPage,
});

/** For owners only. Operators have a log of all organisations. */
const audit = createRoute({
  getParentRoute: () => consoleRoute,
  path: "audit",
  staticData: { access: "members", onlyIn: "live" },
  beforeLoad({ context }) {
    if (context.session.current()?.user.role === "operator")
      throw redirect({ to: "/operator/audit", replace: true });
  },
  component: lazyPage(() => import("../pages/audit/organization-audit.page.tsx"), "OrganizationAuditPage"),
});

export const membersRoutes = [members, audit, security, notifications, notFound];
