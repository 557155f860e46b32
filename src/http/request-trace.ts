/** A request as a span: by its route, and never by what was asked. */
import type { Request } from "express";
import { toTypedId } from "../platform/ids.ts";
import type { Span, Tracing } from "../platform/tracing.ts";
import type { RequestContext } from "./context.ts";

/** What asks again and again, and is nobody's request. */
const UNTRACED = new Set(["/health/live", "/health/ready", "/metrics"]);

/** Whoever calls is a stranger: what it says of its own trace is named beside ours, and neither joined nor obeyed. */
export function beginTrace(
  tracing: Tracing | undefined,
  { path, protocol, headers }: Request,
  { requestId }: RequestContext,
): Span | null {
  if (tracing === undefined || UNTRACED.has(path)) return null;
  const calledBy = headers["traceparent"];
  const span = tracing.begin("HTTP", {
    kind: "server",
    calledBy: typeof calledBy === "string" ? calledBy : undefined,
  });
  span?.set({ "url.scheme": protocol, "waymark.request.id": requestId });
  return span;
}

export interface TracedEnd {
  readonly method: string;
  readonly status: number;
  readonly context: RequestContext;
  /** Whether some route was meant. */
  readonly isRouted: boolean;
}

export function endTrace(span: Span, { method, status, context, isRouted }: TracedEnd): void {
  const { route, holder } = context;
  span.rename(isRouted ? `${method} ${route}` : "HTTP");
  span.set({
    "http.request.method": method === "other" ? "_OTHER" : method,
    "http.response.status_code": status,
    ...(isRouted && { "http.route": route }),
    ...(holder?.organizationId && { "waymark.organization.id": toTypedId("org", holder.organizationId) }),
    ...(holder?.keyId && { "waymark.key.id": toTypedId("key", holder.keyId) }),
  });
  if (status >= 500) span.fail(String(status));
  span.end();
}
