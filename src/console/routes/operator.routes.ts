/** For those who run the service. */
import { createRoute, lazyRouteComponent, redirect } from "@tanstack/react-router";
import { repairing } from "../app/repaired-link.ts";
import { accountRequestsSearch } from "../pages/operator/account-requests.search.ts";
import { auditSearch } from "../pages/operator/audit.search.ts";
import { mailSearch } from "../pages/operator/mail.search.ts";
import { organizationsSearch } from "../pages/operator/organizations.search.ts";
import { consoleRoute } from "./root.route.tsx";

const section = createRoute({
  getParentRoute: () => consoleRoute,
  path: "operator",
  staticData: { access: "operator" },
});

const index = createRoute({
  getParentRoute: () => section,
  path: "/",
  beforeLoad() {
    throw redirect({ to: "/operator/requests", replace: true });
  },
});

const requests = createRoute({
  getParentRoute: () => section,
  path: "requests",
  validateSearch: repairing(accountRequestsSearch),
  component: lazyRouteComponent(
    () => import("../pages/operator/account-requests.page.tsx"),
    "AccountRequestsPage",
  ),
});

const request = createRoute({
  getParentRoute: () => section,
  path: "requests/$id",
  component: lazyRouteComponent(
    () => import("../pages/operator/account-request.page.tsx"),
    "AccountRequestPage",
  ),
});

const organizations = createRoute({
  getParentRoute: () => section,
  path: "organizations",
  validateSearch: repairing(organizationsSearch),
  component: lazyRouteComponent(
    () => import("../pages/operator/organizations.page.tsx"),
    "OrganizationsPage",
  ),
});

const organization = createRoute({
  getParentRoute: () => section,
  path: "organizations/$id",
  component: lazyRouteComponent(() => import("../pages/operator/organization.page.tsx"), "OrganizationPage"),
});

const importJobs = createRoute({
  getParentRoute: () => section,
  path: "import",
  component: lazyRouteComponent(() => import("../pages/operator/import.page.tsx"), "ImportPage"),
});

const statuses = createRoute({
  getParentRoute: () => section,
  path: "statuses",
  component: lazyRouteComponent(() => import("../pages/operator/statuses.page.tsx"), "StatusesPage"),
});

const endpoints = createRoute({
  getParentRoute: () => section,
  path: "endpoints",
  component: lazyRouteComponent(
    () => import("../pages/operator/endpoints-in-trouble.page.tsx"),
    "EndpointsInTroublePage",
  ),
});

const mail = createRoute({
  getParentRoute: () => section,
  path: "mail",
  validateSearch: repairing(mailSearch),
  component: lazyRouteComponent(() => import("../pages/operator/mail.page.tsx"), "MailPage"),
});

const audit = createRoute({
  getParentRoute: () => section,
  path: "audit",
  validateSearch: repairing(auditSearch),
  component: lazyRouteComponent(() => import("../pages/operator/audit.page.tsx"), "AuditPage"),
});

const tasks = createRoute({
  getParentRoute: () => section,
  path: "tasks",
  component: lazyRouteComponent(() => import("../pages/operator/tasks.page.tsx"), "TasksPage"),
});

export const operatorRoutes = [
  section.addChildren([
    index,
    requests,
    request,
    organizations,
    organization,
    importJobs,
    statuses,
    endpoints,
    mail,
    audit,
    tasks,
  ]),
];
