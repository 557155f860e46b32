/** The reference tables. */
import { Router } from "express";
import type { JobCodes } from "../../jobs/job.codes.ts";
import { answering } from "../answer.ts";
import { methodNotAllowed } from "../error-handler.ts";
import type { Gate } from "./gate.ts";

export function referenceRoutes({ codes, gate }: { codes: JobCodes; gate: Gate }): Router {
  const router = Router({ caseSensitive: true });
  const table = (path: string, items: () => Promise<unknown>): void => {
    router
      .route(path)
      .all(gate.named(`/v1${path}`))
      .get(
        gate.read,
        answering(async () => ({ data: { items: await items() } })),
      )
      .all(methodNotAllowed("GET, HEAD"));
  };
  table("/reference/statuses", () => codes.statuses());
  table("/reference/failure-reasons", () => codes.failureReasons());
  return router;
}
