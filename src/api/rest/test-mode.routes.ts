/** The routes of test mode, for test keys only. Parses the request, calls the service, formats the result. */
import { Router } from "express";
import type { KeyVerifier } from "../../api-keys/api.ts";
import type { IdempotencyService } from "../../idempotency/api.ts";
import { toListedJobWire } from "../../jobs/api.ts";
import { JOBS_PER_REQUEST, type JobRun, STEP_INTERVAL, type TestModeService } from "../../test-mode/api.ts";
import { addRoute, type RouteHandlers } from "../add-route.ts";
import { callerOf } from "../context.ts";
import { objectBody, readJson, readOptionalJson, type RouteHandler, toRequestHandler } from "../json.ts";
import { type ApiKeyGuards, hideFromLiveKeys } from "./api-key-guards.ts";
import { MAX_JSON_BYTES, parseBody } from "./body.ts";
import { idempotent } from "./idempotent.ts";
import { markingNumberOf } from "./parameters.ts";
import { newTestJobsBody, sampleEventBody, testRunBody } from "./test-mode.schema.ts";
import { deliveryView } from "../../webhooks/api.ts";
import { writerOf } from "./wire.ts";

interface TestModeRouteServices {
  testMode: TestModeService;
  idempotency: IdempotencyService;
}

interface TestModeGuards {
  guards: ApiKeyGuards;
  verifier: KeyVerifier;
}

export function testModeRoutes(services: TestModeRouteServices & TestModeGuards): Router {
  const router = Router({ caseSensitive: true });
  router.use("/test", hideFromLiveKeys(services.verifier));
  const guards = services.guards("write", ["jobs:write", "jobs:read"]);
  const add = (path: string, name: string, handlers: RouteHandlers) =>
    addRoute(router, { path, name }, handlers);
  add("/test/jobs", "/v1/test/jobs", {
    post: [...guards, readOptionalJson(MAX_JSON_BYTES), toRequestHandler(createTestJobs(services), 201)],
  });
  add("/test/jobs/by-marking/:markingNumber/run", "/v1/test/jobs/by-marking/{markingNumber}/run", {
    post: [...guards, readJson(MAX_JSON_BYTES), toRequestHandler(startTestRun(services), 201)],
    delete: [...guards, toRequestHandler(cancelTestRun(services))],
  });
  // An endpoint receives whole jobs.
  const eventGuards = services.guards("write", ["webhooks:manage", "jobs:read"]);
  add("/test/events/:type", "/v1/test/events/{type}", {
    post: [
      ...eventGuards,
      readOptionalJson(MAX_JSON_BYTES),
      toRequestHandler(sendSampleEvent(services), 201),
    ],
  });
  add("/test/reset", "/v1/test/reset", { post: [...guards, toRequestHandler(resetTestData(services))] });
  return router;
}

function createTestJobs({ testMode, idempotency }: TestModeRouteServices): RouteHandler {
  return idempotent(idempotency, "POST /v1/test/jobs", async (request, response, tx) => {
    const {
      count = JOBS_PER_REQUEST.default,
      template = {},
      assigned = true,
    } = parseBody(newTestJobsBody, objectBody(request));
    const jobs = await testMode.createJobs(callerOf(request, response), { count, template, assigned }, tx);
    return { data: { items: jobs.map(toListedJobWire) }, changed: true };
  });
}

function startTestRun({ testMode }: TestModeRouteServices): RouteHandler {
  return async (request, response) => {
    const markingNumber = markingNumberOf(request);
    const { interval_ms: intervalMs = STEP_INTERVAL.default, ...route } = parseBody(
      testRunBody,
      objectBody(request),
    );
    const run = await testMode.startRun(callerOf(request, response), markingNumber, { ...route, intervalMs });
    return { data: toRunWire(run) };
  };
}

function cancelTestRun({ testMode }: TestModeRouteServices): RouteHandler {
  return async (request, response) => ({
    data: toRunWire(await testMode.cancelRun(callerOf(request, response), markingNumberOf(request))),
  });
}

function toRunWire({ markingNumber, steps, intervalMs, nextStepAt, endsAt }: JobRun) {
  return {
    marking_number: markingNumber,
    steps,
    interval_ms: intervalMs,
    next_step_at: nextStepAt.toISOString(),
    ends_at: endsAt.toISOString(),
  };
}

function sendSampleEvent({ testMode, idempotency }: TestModeRouteServices): RouteHandler {
  return idempotent(idempotency, "POST /v1/test/events/{type}", async (request, response, tx) => {
    const { marking_number: markingNumber, endpoint_id: endpointId } = parseBody(
      sampleEventBody,
      objectBody(request),
    );
    const event = { type: String(request.params["type"]), markingNumber, endpointId };
    const deliveries = await testMode.sendEvent(callerOf(request, response), event, tx);
    return { data: { items: deliveries.map(writerOf(deliveryView)) }, changed: true };
  });
}

function resetTestData({ testMode }: TestModeRouteServices): RouteHandler {
  return async (request, response) => ({ data: await testMode.reset(callerOf(request, response)) });
}
