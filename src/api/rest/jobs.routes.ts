/** The job routes. */
import { Router } from "express";
import { addRoute } from "../add-route.ts";
import { readJson, toRequestHandler } from "../json.ts";
import type { ApiKeyGuards } from "./api-key-guards.ts";
import { MAX_JSON_BYTES } from "./body.ts";
import { lookUpJobs } from "./jobs.lookup.ts";
import { getJob, getJobHistory, listJobs, type JobReadServices } from "./jobs.read.ts";
import { getJobStats } from "./jobs.stats.ts";
import { updateJob, updateJobs, type JobUpdateServices } from "./jobs.update.ts";

const READ = ["jobs:read"] as const;
/** Changes need jobs:read too, because they return the job. */
const WRITE = ["jobs:write", "jobs:read"] as const;

const MAX_BATCH_BYTES = 4 * 1024 * 1024;

export function jobRoutes(services: JobReadServices & JobUpdateServices & { guards: ApiKeyGuards }): Router {
  const { guards } = services;
  const router = Router({ caseSensitive: true });
  addRoute(
    router,
    { path: "/jobs", name: "/v1/jobs" },
    { get: [...guards("read", READ), toRequestHandler(listJobs(services))] },
  );
  addRoute(
    router,
    { path: "/jobs/stats", name: "/v1/jobs/stats" },
    { get: [...guards("read", READ), toRequestHandler(getJobStats(services))] },
  );
  addRoute(
    router,
    { path: "/jobs/lookup", name: "/v1/jobs/lookup" },
    { post: [...guards("read", READ), readJson(MAX_JSON_BYTES), toRequestHandler(lookUpJobs(services))] },
  );
  const batch = "/v1/jobs/batch";
  const updateBatch = toRequestHandler(updateJobs(services, batch));
  addRoute(
    router,
    { path: "/jobs/batch", name: batch },
    { patch: [...guards("batch", WRITE), readJson(MAX_BATCH_BYTES), updateBatch] },
  );
  const one = "/jobs/by-marking/:markingNumber";
  const oneName = "/v1/jobs/by-marking/{markingNumber}";
  addRoute(
    router,
    { path: `${one}/history`, name: `${oneName}/history` },
    { get: [...guards("read", READ), toRequestHandler(getJobHistory(services))] },
  );
  // Two paths, so that an empty Marking Number returns 400 instead of 404.
  addRoute(
    router,
    { path: [one, "/jobs/by-marking"], name: oneName },
    {
      get: [...guards("read", READ), toRequestHandler(getJob(services))],
      patch: [
        ...guards("write", WRITE),
        readJson(MAX_JSON_BYTES),
        toRequestHandler(updateJob(services, oneName)),
      ],
    },
  );
  return router;
}
