/** The routes of the reference data: status codes and failure reasons. */
import { Router } from "express";
import type { JobReferenceData } from "../../jobs/api.ts";
import { toRequestHandler } from "../route-result.ts";
import { tagRoute } from "../context.ts";
import { methodNotAllowed } from "../error-handler.ts";
import type { ApiKeyGuards } from "./guards.ts";

export function referenceRoutes({
  referenceData,
  guards,
}: {
  referenceData: JobReferenceData;
  guards: ApiKeyGuards;
}): Router {
  const router = Router({ caseSensitive: true });
  const table = (path: string, items: () => Promise<unknown>): void => {
    router
      .route(path)
      .all(tagRoute(`/v1${path}`))
      .get(
        guards.read,
        toRequestHandler(async () => ({ data: { items: await items() } })),
      )
      .all(methodNotAllowed("GET, HEAD"));
  };
  table("/reference/statuses", () => referenceData.statuses());
  table("/reference/failure-reasons", () => referenceData.failureReasons());
  return router;
}
