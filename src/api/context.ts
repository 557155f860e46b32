/**
 * The start and the end of every request, and its share: the first middleware sets its context and default headers and enables
 * compression, and records log line, metrics, span and request log at the end.
 */
import { SpanKind, type Span } from "@opentelemetry/api";
import compression from "compression";
import type { NextFunction, Request, RequestHandler, Response } from "express";
import type { SessionPrincipal } from "../accounts/api.ts";
import type { ApiKeyPrincipal } from "../api-keys/api.ts";
import { AppError, invariant } from "../core/errors.ts";
import { newRequestId, toTypedId } from "../core/ids.ts";
import type { Logger } from "../core/logger.ts";
import type { Metrics } from "../core/metrics.ts";
import { partnerOf, principalLogFields } from "../core/principal.ts";
import { markFailed, parseTraceparent, runInSpan, startTrace, traceFields } from "../core/tracing/tracing.ts";
import type { RequestLog } from "../request-log/api.ts";
import { defaultHeaders } from "./default-headers.ts";
import type { InFlight, ShareKind } from "./in-flight.ts";

export interface RequestContext {
  readonly requestId: string;
  /** Route pattern (`/v1/jobs/by-marking/{markingNumber}`), for logs and metrics; never the requested path. */
  route: string;
  /** Null until the request is authenticated. */
  principal: ApiKeyPrincipal | SessionPrincipal | null;
  /** Returns the URL of the section of the guide about an error code. */
  readonly errorUrl: (code: string) => string;
  /** The error that was sent to the client; null if none. */
  failure: RecordedFailure | null;
  /** The `X-Waymark-Simulate` header that was applied; null if none. */
  simulated: string | null;
  /** The names of the unknown parameters of a read. */
  ignoredParameters: readonly string[];
  shareKind: ShareKind;
  readonly inFlight: InFlight;
  /** True if it was rejected because of an overload. It is neither logged nor measured. */
  isRejected: boolean;
}

export interface RecordedFailure {
  readonly code: string;
  readonly responseBody: unknown;
}

export function contextOf(response: Response): RequestContext {
  const { context } = response.locals as { context?: RequestContext };
  invariant(context, "the first middleware has set the context");
  return context;
}

/** Returns a middleware that sets the route pattern of the request, for logs and metrics. `pattern`: below the mounted path. */
export function tagRoute(pattern: string): RequestHandler {
  return ({ baseUrl }, response, next) => {
    contextOf(response).route = baseUrl + pattern;
    next();
  };
}

/** Returns the principal of a route of an operation, with the request data that the audit log records. */
export function callerOf(request: Request, response: Response) {
  const { principal, requestId } = contextOf(response);
  invariant(
    principal && principal.keyId !== null && principal.organizationId !== null,
    "the route has a guard",
  );
  return { ...principal, requestId, ipAddress: request.ip ?? null };
}

export interface RequestServices {
  logger: Logger;
  metrics: Metrics;
  requests: Pick<RequestLog, "record">;
  inFlight: InFlight;
  /** Aborted once the server is stopping. */
  stopping: AbortSignal;
  /** Returns the URL of the section of the guide about an error code. */
  errorUrl: (code: string) => string;
}

interface CompletedRequest {
  readonly request: Request;
  readonly context: RequestContext;
  /** `other` if it is not a standard method. */
  readonly method: string;
  readonly status: number;
  readonly durationMs: number;
}

const UNKNOWN_ROUTE = "unknown";
const METHODS = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);

/** Returns the first middleware. */
export function startRequest(services: RequestServices): RequestHandler {
  const { metrics, stopping, errorUrl, inFlight } = services;
  const baseHeaders = defaultHeaders();
  const compress = compression();

  const prepare = (request: Request, response: Response, next: NextFunction): void => {
    for (const [name, value] of baseHeaders) response.setHeader(name, value);
    // A stopping server accepts no further request on a connection.
    if (stopping.aborted) response.setHeader("Connection", "close");
    // `compression` wraps every response, so it runs only for clients that accept it.
    if (request.headers["accept-encoding"] === undefined) next();
    else compress(request, response, next);
  };

  return (request, response, next) => {
    const startedMs = performance.now();
    const context: RequestContext = {
      requestId: newRequestId(),
      route: UNKNOWN_ROUTE,
      principal: null,
      errorUrl,
      failure: null,
      simulated: null,
      ignoredParameters: [],
      shareKind: "request",
      inFlight,
      isRejected: false,
    };
    response.locals["context"] = context;
    const span = startSpan(request, context);
    response.setHeader("X-Request-Id", context.requestId);
    metrics.requestsInFlight.inc();
    response.once("close", () => {
      // 499, as in nginx: the client disconnected before the response.
      const status = response.writableFinished ? response.statusCode : 499;
      const method = METHODS.has(request.method) ? request.method : "other";
      const durationMs = performance.now() - startedMs;
      recordCompletion(services, span, { request, context, method, status, durationMs });
    });
    if (span) runInSpan(span, () => prepare(request, response, next));
    else prepare(request, response, next);
  };
}

function recordCompletion(
  { logger, metrics, requests }: RequestServices,
  span: Span | null,
  completed: CompletedRequest,
): void {
  const { context, method, status, durationMs } = completed;
  const { route, requestId, principal, simulated } = context;
  metrics.requestsInFlight.dec();
  if (context.isRejected) return;
  // A simulated failure must not look like one of the service.
  if (simulated === null)
    metrics.requestDuration.observe({ method, route, status: String(status) }, durationMs / 1000);
  else metrics.simulatedRequests.inc({ simulation: simulated.split(":", 1)[0] as string });
  // Log the route pattern, because paths and queries may contain personal data.
  logger.info({
    request_id: requestId,
    method,
    route,
    status,
    duration_ms: Math.round(durationMs * 100) / 100,
    ...(simulated !== null && { simulated }),
    ...(principal && principalLogFields(principal)),
    ...(span && traceFields(span)),
  });
  addToRequestLog(requests, completed);
  if (span) endSpan(span, completed);
}

const LOGGED_ROUTES = /^\/(v1\/|graphql$)/;

/** Adds a request that was made with an organisation's API key. Requests of the console are not logged. */
function addToRequestLog(
  recorder: Pick<RequestLog, "record">,
  { request, context, status, durationMs }: CompletedRequest,
): void {
  const { requestId, route, principal, failure, simulated, ignoredParameters } = context;
  if (!principal || principal.keyId === null || principal.organizationId === null) return;
  if (!LOGGED_ROUTES.test(route)) return;
  recorder.record({
    requestId,
    organizationId: principal.organizationId,
    partnerId: partnerOf(principal),
    keyId: principal.keyId,
    method: request.method,
    path: request.originalUrl.split("?", 1)[0] ?? "",
    status,
    durationMs,
    errorCode: failure?.code ?? null,
    simulated,
    ignoredParameters,
    requestBodyValue: request.body as unknown,
    responseBodyValue: failure?.responseBody,
  });
}

/** Polled by monitoring; their spans would be noise. */
const UNTRACED_PATHS = new Set(["/health/live", "/health/ready", "/metrics"]);

/** Starts a new trace and links it to the client's `traceparent`, whose sampling decision is not trusted. Null if not traced. */
function startSpan(request: Request, { requestId }: RequestContext): Span | null {
  const span = UNTRACED_PATHS.has(request.path) ? null : startTrace("HTTP", { kind: SpanKind.SERVER });
  if (span === null) return null;
  const linked = parseTraceparent(request.get("traceparent") ?? "");
  if (linked) span.addLink({ context: linked });
  return span.setAttributes({ "url.scheme": request.protocol, "waymark.request.id": requestId });
}

/** The span's name is the route pattern, which contains no personal data. */
function endSpan(span: Span, { method, status, context }: CompletedRequest): void {
  const { route, principal, simulated } = context;
  const isRouted = route !== UNKNOWN_ROUTE;
  span.updateName(isRouted ? `${method} ${route}` : "HTTP");
  span.setAttributes({
    "http.request.method": method === "other" ? "_OTHER" : method,
    "http.response.status_code": status,
    ...(isRouted && { "http.route": route }),
    ...(principal?.organizationId && {
      "waymark.organization.id": toTypedId("org", principal.organizationId),
    }),
    ...(principal?.keyId && { "waymark.key.id": toTypedId("key", principal.keyId) }),
  });
  if (simulated !== null) span.setAttribute("waymark.simulated", simulated);
  else if (status >= 500) markFailed(span, String(status));
  span.end();
}

/** Returns a signal that aborts if the client disconnects before the response is complete. */
export function disconnectSignal(response: Response): AbortSignal {
  const disconnected = new AbortController();
  response.once("close", () => {
    if (!response.writableFinished)
      disconnected.abort(new AppError("BadRequestException", "The client disconnected"));
  });
  return disconnected.signal;
}

/** Counts the request as in flight. Throws ServiceUnavailableException beyond the limit. */
export const limitInFlight: RequestHandler = (_request, response, next) => {
  const context = contextOf(response);
  try {
    context.inFlight.enter(response);
  } catch (error) {
    context.isRejected = true;
    throw error;
  }
  next();
};

/** Runs `work` in the share of the request's partner, as `InFlight.inShare`. Call it after the whole body has arrived. */
export async function inShare<T>(response: Response, kind: ShareKind, work: () => Promise<T>): Promise<T> {
  const { principal, inFlight } = contextOf(response);
  if (!principal) return await work();
  return await inFlight.inShare(response, { partnerId: partnerOf(principal), kind }, work);
}

/** Runs `call`, a request to another server. The request of `response` does not count as in flight meanwhile, and lends its share. */
export async function duringExternalCall<T>(response: Response, call: () => Promise<T>): Promise<T> {
  return await contextOf(response).inFlight.duringExternalCall(response, call);
}
