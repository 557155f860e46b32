/** Routes for operators. */
import { createRoute, lazyRouteComponent, redirect } from "@tanstack/react-router";
import { withRepairNotice } from "../app/link-repair.ts";
import { parseAccountRequestsSearch } from "../pages/operator/account-requests/account-requests.search.ts";
import { parseAuditSearch } from "../pages/audit/audit.search.ts";
import { parseMailSearch } from "../pages/operator/mail/mail.search.ts";
import { consoleRoute } from "./root.route.tsx";
import { textParam, type RawSearch } from "../app/search-params.ts";

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
  validateSearch: withRepairNotice(parseAccountRequestsSearch),
  component: lazyRouteComponent(
    () => import("../pages/operator/account-requests/account-requests.page.tsx"),
    "AccountRequestsPage",
  ),
});

const request = createRoute({
  getParentRoute: () => section,
  path: "requests/$id",
  component: lazyRouteComponent(
    () => import("../pages/operator/account-requests/account-request.page.tsx"),
    "AccountRequestPage",
  ),
});

const organizations = createRoute({
  getParentRoute: () => section,
  path: "organizations",
  validateSearch: withRepairNotice(parseOrganizationsSearch),
  component: lazyRouteComponent(
    () => import("../pages/operator/organizations/organizations.page.tsx"),
    "OrganizationsPage",
  ),
});

const organization = createRoute({
  getParentRoute: () => section,
  path: "organizations/$id",
  component: lazyRouteComponent(
    () => import("../pages/operator/organizations/organization.page.tsx"),
    "OrganizationPage",
  ),
});

const importJobs = createRoute({
  getParentRoute: () => section,
  path: "import",
  component: lazyRouteComponent(() => import("../pages/operator/import/import.page.tsx"), "ImportPage"),
});

const statuses = createRoute({
  getParentRoute: () => section,
  path: "statuses",
  component: lazyRouteComponent(() => import("../pages/operator/statuses/statuses.page.tsx"), "StatusesPage"),
});

const failingEndpoints = createRoute({
  getParentRoute: () => section,
  path: "endpoints",
  component: lazyRouteComponent(
    () => import("../pages/operator/failing-endpoints/failing-endpoints.page.tsx"),
    "FailingEndpointsPage",
  ),
});

const mail = createRoute({
  getParentRoute: () => section,
  path: "mail",
  validateSearch: withRepairNotice(parseMailSearch),
  component: lazyRouteComponent(() => import("../pages/operator/mail/mail.page.tsx"), "MailPage"),
});

const audit = createRoute({
  getParentRoute: () => section,
  path: "audit",
  validateSearch: withRepairNotice(parseAuditSearch),
  component: lazyRouteComponent(() => import("../pages/audit/operator-audit.page.tsx"), "AuditPage"),
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
    failingEndpoints,
    mail,
    audit,
    tasks,
  ]),
];

interface OrganizationsSearch {
  q?: string | undefined;
}

function parseOrganizationsSearch(search: RawSearch): OrganizationsSearch {
  return { q: textParam(search["q"]) };
}
