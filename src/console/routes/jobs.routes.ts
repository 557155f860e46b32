/** Routes for the dashboard and the jobs. */
import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { withRepairNotice } from "../app/link-repair.ts";
import { JOBS_SEARCH_DEFAULTS, parseJobsSearch } from "../pages/jobs/filters/jobs.search.ts";
import { consoleRoute } from "./root.route.tsx";

const dashboard = createRoute({
  getParentRoute: () => consoleRoute,
  path: "/",
  component: lazyRouteComponent(() => import("../pages/dashboard/dashboard.page.tsx"), "DashboardPage"),
});

const jobs = createRoute({
  getParentRoute: () => consoleRoute,
  path: "jobs",
  validateSearch: withRepairNotice(parseJobsSearch, JOBS_SEARCH_DEFAULTS),
  component: lazyRouteComponent(() => import("../pages/jobs/list/jobs.page.tsx"), "JobsPage"),
});

const job = createRoute({
  getParentRoute: () => consoleRoute,
  path: "jobs/$markingNumber",
  component: lazyRouteComponent(() => import("../pages/jobs/detail/job.page.tsx"), "JobPage"),
});

export const jobsRoutes = [dashboard, jobs, job];
