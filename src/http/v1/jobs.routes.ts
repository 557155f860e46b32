/** The job routes: the three of the contract, the single read and the history. */
import { Router } from "express";
import { answering } from "../answer.ts";
import { readJson } from "../body.ts";
import { methodNotAllowed } from "../error-handler.ts";
import { idempotent } from "../idempotency.ts";
import type { Gate } from "./gate.ts";
import {
  getJob,
  jobHistory,
  listJobs,
  updateJob,
  updateJobs,
  type JobHandlerServices,
} from "./jobs.handlers.ts";

const ONE_JOB_BYTES = 64 * 1024;
const BATCH_BYTES = 4 * 1024 * 1024;

export function jobRoutes(services: JobHandlerServices & { gate: Gate }): Router {
  const { database, gate } = services;
  const one = "/jobs/by-marking/:markingNumber";
  const oneRoute = "/v1/jobs/by-marking/{markingNumber}";
  const onceOne = idempotent(database, `PATCH ${oneRoute}`, updateJob(services));
  const onceBatch = idempotent(database, "PATCH /v1/jobs/batch", updateJobs(services));

  const router = Router({ caseSensitive: true });
  router
    .route("/jobs")
    .all(gate.named("/v1/jobs"))
    .get(gate.read, answering(listJobs(services)))
    .all(methodNotAllowed("GET, HEAD"));
  router
    .route("/jobs/batch")
    .all(gate.named("/v1/jobs/batch"))
    .patch(gate.batch, readJson(BATCH_BYTES), answering(onceBatch))
    .all(methodNotAllowed("PATCH"));
  router
    .route(`${one}/history`)
    .all(gate.named(`${oneRoute}/history`))
    .get(gate.read, answering(jobHistory(services)))
    .all(methodNotAllowed("GET, HEAD"));
  // Two paths, so that an empty Marking Number is a missing one (400) and no unknown route.
  router
    .route([one, "/jobs/by-marking"])
    .all(gate.named(oneRoute))
    .get(gate.read, answering(getJob(services)))
    .patch(gate.write, readJson(ONE_JOB_BYTES), answering(onceOne))
    .all(methodNotAllowed("GET, HEAD, PATCH"));
  return router;
}
