/** The trace span of a request. Its name is the route pattern, which contains no personal data. */
import type { Request } from "express";
import { toTypedId } from "../platform/ids.ts";
import type { Span, Tracing } from "../platform/tracing/tracing.ts";
import type { RequestContext } from "./context.ts";

/** Polled by monitoring; their spans would be noise. */
const UNTRACED_PATHS = new Set(["/health/live", "/health/ready", "/metrics"]);

/** Starts a new trace and links it to the client's `traceparent`, whose sampling decision is not trusted. Null if not traced. */
export function startRequestSpan(
  tracing: Tracing | undefined,
  { path, protocol, headers }: Request,
  { requestId }: RequestContext,
): Span | null {
  if (tracing === undefined || UNTRACED_PATHS.has(path)) return null;
  const traceparent = headers["traceparent"];
  const span = tracing.startTrace("HTTP", {
    kind: "server",
    linkedTraceparent: typeof traceparent === "string" ? traceparent : undefined,
  });
  span?.set({ "url.scheme": protocol, "waymark.request.id": requestId });
  return span;
}

export interface RequestSpanResult {
  readonly method: string;
  readonly status: number;
  readonly context: RequestContext;
  /** False if no route matched. */
  readonly isRouted: boolean;
}

export function endRequestSpan(span: Span, { method, status, context, isRouted }: RequestSpanResult): void {
  const { route, principal } = context;
  span.rename(isRouted ? `${method} ${route}` : "HTTP");
  span.set({
    "http.request.method": method === "other" ? "_OTHER" : method,
    "http.response.status_code": status,
    ...(isRouted && { "http.route": route }),
    ...(principal?.organizationId && {
      "waymark.organization.id": toTypedId("org", principal.organizationId),
    }),
    ...(principal?.keyId && { "waymark.key.id": toTypedId("key", principal.keyId) }),
  });
  if (status >= 500) span.fail(String(status));
  span.end();
}
