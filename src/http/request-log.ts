/** What becomes of a request in its organisation's log. */
import type { Request } from "express";
import type { RequestRecorder } from "../request-log/api.ts";
import type { RequestContext } from "./context.ts";

/** What partners' programs call. */
const LOGGED_ROUTES = /^\/(v1\/|graphql$)/;

interface CompletedRequest {
  readonly request: Request;
  readonly context: RequestContext;
  readonly status: number;
  readonly durationMs: number;
}

/** Logs a request that is over, where it came by an organisation's key: what people do in the console they see there. */
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
  const responseBodyValue = failure?.answer;
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
