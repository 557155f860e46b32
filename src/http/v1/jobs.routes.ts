/** The job routes: the three of the contract, the single read and the history. */
import { Router } from "express";
import { toRequestHandler } from "../route-result.ts";
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
    .all(guards.tagRoute("/v1/jobs"))
    .get(guards.read, toRequestHandler(listJobs(services)))
    .all(methodNotAllowed("GET, HEAD"));
  router
    .route("/jobs/batch")
    .all(guards.tagRoute("/v1/jobs/batch"))
    .patch(guards.batch, readJson(MAX_BATCH_BYTES), toRequestHandler(updateBatchOnce))
    .all(methodNotAllowed("PATCH"));
  router
    .route(`${one}/history`)
    .all(guards.tagRoute(`${oneRoute}/history`))
    .get(guards.read, toRequestHandler(getJobHistory(services)))
    .all(methodNotAllowed("GET, HEAD"));
  // Two paths, so that an empty Marking Number is a missing one (400) and no unknown route.
  router
    .route([one, "/jobs/by-marking"])
    .all(guards.tagRoute(oneRoute))
    .get(guards.read, toRequestHandler(getJob(services)))
    .patch(guards.write, readJson(MAX_JOB_BYTES), toRequestHandler(updateOnce))
    .all(methodNotAllowed("GET, HEAD, PATCH"));
  return router;
}
