/** Routes for the dashboard and the jobs. */
import { createRoute } from "@tanstack/react-router";
import { lazyPage } from "../app/lazy-page.ts";
import { withRepairNotice } from "../app/link-repair.ts";
import { JOBS_SEARCH_DEFAULTS, parseJobsSearch } from "../pages/jobs/filters/jobs.search.ts";
import { consoleRoute } from "./root.route.tsx";

const dashboard = createRoute({
  getParentRoute: () => consoleRoute,
  path: "/",
  component: lazyPage(() => import("../pages/dashboard/dashboard.page.tsx"), "DashboardPage"),
});

const jobs = createRoute({
  getParentRoute: () => consoleRoute,
  path: "jobs",
  validateSearch: withRepairNotice(parseJobsSearch, JOBS_SEARCH_DEFAULTS),
  component: lazyPage(() => import("../pages/jobs/list/jobs.page.tsx"), "JobsPage"),
});

const job = createRoute({
  getParentRoute: () => consoleRoute,
  path: "jobs/$markingNumber",
  component: lazyPage(() => import("../pages/jobs/detail/job.page.tsx"), "JobPage"),
});

const importJobs = createRoute({
  getParentRoute: () => consoleRoute,
  path: "import",
  staticData: { access: "import", onlyIn: "live" },
  component: lazyPage(() => import("../pages/jobs/import/import.page.tsx"), "ImportPage"),
});

export const jobsRoutes = [dashboard, jobs, job, importJobs];
