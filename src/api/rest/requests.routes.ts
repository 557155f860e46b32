/** The routes of the request log, which any key of the organisation may read. */
import { Router } from "express";
import { z } from "zod";
import {
  type RequestLog,
  requestLogCursor,
  type RequestLogEntryView,
  requestOutcomes,
} from "../../request-log/api.ts";
import { addRoute } from "../add-route.ts";
import { principalOf } from "../context.ts";
import { type RouteHandler, toRequestHandler } from "../json.ts";
import type { ApiKeyGuards } from "./api-key-guards.ts";
import { cursorLinkHeader } from "./link-header.ts";
import { cursorParameter, invalid, queryReader } from "./parameters.ts";
import { wireSchema } from "./wire.ts";
import {
  cursorPagination,
  MALFORMED_CURSOR,
  dateTime,
  idSchema,
  optionalParameter,
  pageSizeParameter,
  requestIdSchema,
  text,
} from "../../operations/schemas.ts";

interface RequestRouteServices {
  requests: Pick<RequestLog, "list" | "get">;
  /** Prefix of the URLs in `Link`: empty, or the public URL of the service. */
  baseUrl: string;
}

const keyId = idSchema("key", "Key ID", "key_01KAB7Q3M5E8RZ2C4WFX9TNH6D");

export const requestLogParameters = z.object({
  outcome: optionalParameter(
    z.enum(requestOutcomes, { error: `must be one of ${requestOutcomes.join(", ")}` }),
    "Only requests with this outcome: status 2xx or 3xx, 4xx, or 5xx.",
    "failed",
  ),
  key_id: optionalParameter(
    z.string(),
    "Only requests made with this key.",
    "key_01KAB7Q3M5E8RZ2C4WFX9TNH6D",
  ),
  page_size: pageSizeParameter,
  cursor: cursorParameter,
});

const body = (what: string) =>
  text(
    `First 4 KiB of the ${what} body, only of failed requests and for keys with \`jobs:read\`. Personal data is masked`,
    '{"weight":"heavy"}',
  ).nullable();

export const requestLogEntrySchema = z
  .object({
    request_id: requestIdSchema.meta({
      ...requestIdSchema.meta(),
      description: "Request ID, as in the response",
    }),
    at: dateTime("Time at which the request arrived", "2026-11-21T09:15:42.318Z"),
    method: text("HTTP method", "PATCH"),
    path: text(
      "Path without the query. For keys without `jobs:read`, Marking Numbers are masked",
      "/v1/jobs/by-marking/MN-2026-000123",
    ),
    status: z.int().meta({
      description: "HTTP status. 499: the connection was closed before the response",
      examples: [400],
    }),
    duration_ms: z.number().meta({ description: "Duration in milliseconds", examples: [4.2] }),
    error_code: text("Error code; null on success", "BadRequestException").nullable(),
    key_id: keyId,
    key_name: text("Name of the key; null if the key no longer exists", "Warehouse sync").nullable(),
    request_body: body("request"),
    response_body: body("response"),
    simulated: text("The `X-Waymark-Simulate` header that was applied; null if none", "503").nullable(),
  })
  .meta({ id: "RequestLogEntry", description: "A request made with an API key of the organization." });

export const requestLogSchema = z
  .object({
    items: z.array(requestLogEntrySchema).meta({ description: "The requests, newest first" }),
    pagination: wireSchema(cursorPagination),
  })
  .meta({ id: "RequestLog" });

const readLogQuery = queryReader(requestLogParameters);

export function requestRoutes(services: RequestRouteServices & { guards: ApiKeyGuards }): Router {
  const { guards } = services;
  const router = Router({ caseSensitive: true });
  addRoute(
    router,
    { path: "/requests", name: "/v1/requests" },
    { get: [...guards("read", []), toRequestHandler(listRequests(services))] },
  );
  addRoute(
    router,
    { path: "/requests/:request_id", name: "/v1/requests/{request_id}" },
    { get: [...guards("read", []), toRequestHandler(getRequest(services))] },
  );
  return router;
}

function listRequests({ requests, baseUrl }: RequestRouteServices): RouteHandler {
  return async (request, response) => {
    const url = request.originalUrl;
    const { outcome, key_id, cursor, page_size: limit } = readLogQuery(url);
    const after = cursor === undefined ? null : requestLogCursor.decode(cursor);
    if (cursor !== undefined && after === null) {
      throw invalid("query", "cursor", { code: "malformed", message: MALFORMED_CURSOR });
    }
    const filter = { outcome, keyId: key_id };
    const { items, hasMore } = await requests.list(principalOf(response), { filter, limit, after });
    const last = items.at(-1);
    const nextCursor = hasMore && last ? requestLogCursor.encode(last) : null;
    return {
      data: { items: items.map(toEntryWire), pagination: { page_size: limit, next_cursor: nextCursor } },
      headers: cursorLinkHeader(baseUrl + url, nextCursor),
    };
  };
}

function getRequest({ requests }: RequestRouteServices): RouteHandler {
  return async (request, response) => {
    const entry = await requests.get(principalOf(response), String(request.params["request_id"]));
    return { data: toEntryWire(entry) };
  };
}

function toEntryWire(entry: RequestLogEntryView) {
  return {
    request_id: entry.requestId,
    at: entry.at,
    method: entry.method,
    path: entry.path,
    status: entry.status,
    duration_ms: entry.durationMs,
    error_code: entry.errorCode,
    key_id: entry.keyId,
    key_name: entry.keyName,
    request_body: entry.requestBody,
    response_body: entry.responseBody,
    simulated: entry.simulated,
  };
}
