/** Passes completed API requests to the request log. */
import type { Request } from "express";
import type { RequestRecorder } from "../request-log/api.ts";
import type { RequestContext } from "./context.ts";

const LOGGED_ROUTES = /^\/(v1\/|graphql$)/;

interface CompletedRequest {
  readonly request: Request;
  readonly context: RequestContext;
  readonly status: number;
  readonly durationMs: number;
}

/** Records a completed request if it was made with an organisation's API key. Requests of the console are not recorded. */
export function logRequest(recorder: RequestRecorder, completed: CompletedRequest): void {
  const { request, context, status, durationMs } = completed;
  const { requestId, route, principal, failure } = context;
  if (
    !principal ||
    principal.keyId === null ||
    principal.organizationId === null ||
    !LOGGED_ROUTES.test(route)
  )
    return;
  const { organizationId, keyId } = principal;
  const { originalUrl, method } = request;
  const queryStart = originalUrl.indexOf("?");
  const path = queryStart === -1 ? originalUrl : originalUrl.slice(0, queryStart);
  const errorCode = failure?.code ?? null;
  const responseBodyValue = failure?.responseBody;
  const requestBodyValue: unknown = request.body;
  recorder.record({
    requestId,
    organizationId,
    keyId,
    method,
    path,
    status,
    durationMs,
    errorCode,
    requestBodyValue,
    responseBodyValue,
  });
}
