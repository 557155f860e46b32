/** Routes for operators. */
import { createRoute, redirect } from "@tanstack/react-router";
import { lazyPage } from "../app/lazy-page.ts";
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
  component: lazyPage(
    () => import("../pages/operator/account-requests/account-requests.page.tsx"),
    "AccountRequestsPage",
  ),
});

const request = createRoute({
  getParentRoute: () => section,
  path: "requests/$id",
  component: lazyPage(
    () => import("../pages/operator/account-requests/account-request.page.tsx"),
    "AccountRequestPage",
  ),
});

const organizations = createRoute({
  getParentRoute: () => section,
  path: "organizations",
  validateSearch: withRepairNotice(parseOrganizationsSearch),
  component: lazyPage(
    () => import("../pages/operator/organizations/organizations.page.tsx"),
    "OrganizationsPage",
  ),
});

const organization = createRoute({
  getParentRoute: () => section,
  path: "organizations/$id",
  component: lazyPage(
    () => import("../pages/operator/organizations/organization.page.tsx"),
    "OrganizationPage",
  ),
});

/** The former path of the page. */
const importJobs = createRoute({
  getParentRoute: () => section,
  path: "import",
  beforeLoad() {
    throw redirect({ to: "/import", replace: true });
  },
});

const statuses = createRoute({
  getParentRoute: () => section,
  path: "statuses",
  component: lazyPage(() => import("../pages/operator/statuses/statuses.page.tsx"), "StatusesPage"),
});

const failingEndpoints = createRoute({
  getParentRoute: () => section,
  path: "endpoints",
  component: lazyPage(
    () => import("../pages/operator/failing-endpoints/failing-endpoints.page.tsx"),
    "FailingEndpointsPage",
  ),
});

const mail = createRoute({
  getParentRoute: () => section,
  path: "mail",
  validateSearch: withRepairNotice(parseMailSearch),
  component: lazyPage(() => import("../pages/operator/mail/mail.page.tsx"), "MailPage"),
});

const audit = createRoute({
  getParentRoute: () => section,
  path: "audit",
  validateSearch: withRepairNotice(parseAuditSearch),
  component: lazyPage(() => import("../pages/audit/operator-audit.page.tsx"), "AuditPage"),
});

const tasks = createRoute({
  getParentRoute: () => section,
  path: "tasks",
  component: lazyPage(() => import("../pages/operator/tasks.page.tsx"), "TasksPage"),
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
