/** The job routes. */
import { Router } from "express";
import { toRequestHandler } from "../route-result.ts";
import { tagRoute } from "../context.ts";
import { readJson } from "../body.ts";
import { methodNotAllowed } from "../error-handler.ts";
import { idempotent } from "./idempotency.ts";
import type { ApiKeyGuards } from "./guards.ts";
import {
  getJob,
  getJobHistory,
  listJobs,
  updateJob,
  updateJobs,
  type JobHandlerServices,
} from "./jobs.handlers.ts";

const MAX_JOB_BYTES = 64 * 1024;
const MAX_BATCH_BYTES = 4 * 1024 * 1024;

export function jobRoutes(services: JobHandlerServices & { guards: ApiKeyGuards }): Router {
  const { database, guards } = services;
  const one = "/jobs/by-marking/:markingNumber";
  const oneRoute = "/v1/jobs/by-marking/{markingNumber}";
  const updateOnce = idempotent(database, `PATCH ${oneRoute}`, updateJob(services));
  const updateBatchOnce = idempotent(database, "PATCH /v1/jobs/batch", updateJobs(services));

  const router = Router({ caseSensitive: true });
  router
    .route("/jobs")
    .all(tagRoute("/v1/jobs"))
    .get(guards.read, toRequestHandler(listJobs(services)))
    .all(methodNotAllowed("GET, HEAD"));
  router
    .route("/jobs/batch")
    .all(tagRoute("/v1/jobs/batch"))
    .patch(guards.batch, readJson(MAX_BATCH_BYTES), toRequestHandler(updateBatchOnce))
    .all(methodNotAllowed("PATCH"));
  router
    .route(`${one}/history`)
    .all(tagRoute(`${oneRoute}/history`))
    .get(guards.read, toRequestHandler(getJobHistory(services)))
    .all(methodNotAllowed("GET, HEAD"));
  // Two paths, so that an empty Marking Number returns 400 instead of 404.
  router
    .route([one, "/jobs/by-marking"])
    .all(tagRoute(oneRoute))
    .get(guards.read, toRequestHandler(getJob(services)))
    .patch(guards.write, readJson(MAX_JOB_BYTES), toRequestHandler(updateOnce))
    .all(methodNotAllowed("GET, HEAD, PATCH"));
  return router;
}
