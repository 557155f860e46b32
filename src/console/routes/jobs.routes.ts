/** The dashboard and the jobs. */
import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { repairing } from "../app/repaired-link.ts";
import { JOBS_DEFAULTS, jobsSearch } from "../pages/jobs/jobs.search.ts";
import { consoleRoute } from "./root.route.tsx";

const dashboard = createRoute({
  getParentRoute: () => consoleRoute,
  path: "/",
  component: lazyRouteComponent(() => import("../pages/dashboard/dashboard.page.tsx"), "DashboardPage"),
});

const jobs = createRoute({
  getParentRoute: () => consoleRoute,
  path: "jobs",
  validateSearch: repairing(jobsSearch, JOBS_DEFAULTS),
  component: lazyRouteComponent(() => import("../pages/jobs/jobs.page.tsx"), "JobsPage"),
});

const job = createRoute({
  getParentRoute: () => consoleRoute,
  path: "jobs/$markingNumber",
  component: lazyRouteComponent(() => import("../pages/jobs/job.page.tsx"), "JobPage"),
});

export const jobsRoutes = [dashboard, jobs, job];
