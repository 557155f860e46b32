/** The first middleware: assigns the request ID, and records log line, metrics, span and request log at the end. */
import type { RequestHandler } from "express";
import { newRequestId } from "../platform/ids.ts";
import type { Logger } from "../platform/logger.ts";
import type { Metrics } from "../platform/metrics.ts";
import { principalLogFields } from "../platform/principal.ts";
import type { Tracing } from "../platform/tracing/tracing.ts";
import type { RequestRecorder } from "../request-log/api.ts";
import { setContext, type RequestContext } from "./context.ts";
import { logRequest } from "./request-log.ts";
import { startRequestSpan, endRequestSpan } from "./request-span.ts";

export interface RequestContextDeps {
  logger: Logger;
  metrics: Metrics;
  requests: RequestRecorder;
  /** Absent if tracing is off. */
  tracing?: Tracing | undefined;
}

const UNKNOWN_ROUTE = "unknown";
const METHODS = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);

export function requestContext({ logger, metrics, requests, tracing }: RequestContextDeps): RequestHandler {
  return (request, response, next) => {
    const startedMs = performance.now();
    const context: RequestContext = {
      requestId: newRequestId(),
      route: UNKNOWN_ROUTE,
      principal: null,
      failure: null,
    };
    setContext(response, context);
    const span = startRequestSpan(tracing, request, context);
    response.setHeader("X-Request-Id", context.requestId);
    metrics.requestsInFlight.inc();
    response.once("close", () => {
      const durationMs = performance.now() - startedMs;
      const { route, requestId, principal } = context;
      // 499, as in nginx: the client disconnected before the response.
      const status = response.writableFinished ? response.statusCode : 499;
      const method = METHODS.has(request.method) ? request.method : "other";
      metrics.requestsInFlight.dec();
      metrics.requestDuration.observe({ method, route, status: String(status) }, durationMs / 1000);
      // Log the route pattern, because paths and queries may contain personal data.
      logger.info({
        request_id: requestId,
        method,
        route,
        status,
        duration_ms: Math.round(durationMs * 100) / 100,
        ...(principal && principalLogFields(principal)),
        ...span?.run(() => tracing?.currentIds()),
      });
      logRequest(requests, { request, context, status, durationMs });
      if (span) endRequestSpan(span, { method, status, context, isRouted: route !== UNKNOWN_ROUTE });
    });
    if (span) span.run(next);
    else next();
  };
}
