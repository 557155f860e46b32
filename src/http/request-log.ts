/** What becomes of a request in its organisation's log. */
import type { Request } from "express";
import type { RequestRecorder } from "../request-log/request-log.service.ts";
import type { RequestContext } from "./context.ts";

/** What partners' programs call. */
const LOGGED = /^\/(v1\/|graphql$)/;

interface Ended {
  readonly request: Request;
  readonly context: RequestContext;
  readonly status: number;
  readonly durationMs: number;
}

/** Logs a request that is over, where it came by an organisation's key: what people do in the console they see there. */
export function logRequest(recorder: RequestRecorder, ended: Ended): void {
  const { request, context, status, durationMs } = ended;
  const { requestId, route, holder, failure } = context;
  if (!holder || holder.keyId === null || holder.organizationId === null || !LOGGED.test(route)) return;
  const { organizationId, keyId } = holder;
  const { originalUrl, method } = request;
  const query = originalUrl.indexOf("?");
  const path = query === -1 ? originalUrl : originalUrl.slice(0, query);
  const errorCode = failure?.code ?? null;
  const answer = failure?.answer;
  const body: unknown = request.body;
  recorder.record({
    requestId,
    organizationId,
    keyId,
    method,
    path,
    status,
    durationMs,
    errorCode,
    body,
    answer,
  });
}
