/** The routes of the reference data: status codes and failure reasons. */
import { Router } from "express";
import type { JobReferenceData } from "../../jobs/api.ts";
import { addRoute } from "../add-route.ts";
import { toRequestHandler } from "../json.ts";
import type { ApiKeyGuards } from "./api-key-guards.ts";

export function referenceRoutes({
  referenceData,
  guards,
}: {
  referenceData: JobReferenceData;
  guards: ApiKeyGuards;
}): Router {
  const router = Router({ caseSensitive: true });
  const table = (path: string, items: () => Promise<unknown>): void => {
    const handler = toRequestHandler(async () => ({ data: { items: await items() } }));
    addRoute(router, { path, name: `/v1${path}` }, { get: [...guards("read", ["jobs:read"]), handler] });
  };
  table("/reference/statuses", () => referenceData.statuses());
  table("/reference/failure-reasons", () => referenceData.failureReasons());
  return router;
}
