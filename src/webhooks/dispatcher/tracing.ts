/** Spans for deliveries and attempts. They continue the trace of the request that caused the event. */
import { SpanKind } from "@opentelemetry/api";
import { toTypedId } from "../../core/ids.ts";
import type { OutgoingResult } from "../../core/http-client/client.ts";
import { continueTrace, markFailed, startSpan, withSpan } from "../../core/tracing/tracing.ts";
import type { Lease } from "./lease.ts";

/** Runs `send` in a delivery span, if the event's request was traced. Each retry has a separate span. */
export async function traceDelivery<Result extends { outcome: { class: string } }>(
  lease: Lease,
  send: () => Promise<Result>,
): Promise<Result> {
  if (lease.traceParent === null) return await send();
  const span = continueTrace(lease.traceParent, "deliver webhook_delivery", {
    kind: SpanKind.CONSUMER,
    attributes: {
      "messaging.system": "waymark",
      "messaging.operation.type": "process",
      "messaging.operation.name": "deliver",
      "messaging.destination.name": "webhook_delivery",
      "messaging.message.id": toTypedId("evt", lease.eventId),
      "waymark.delivery.id": toTypedId("dlv", lease.id),
      "waymark.endpoint.id": toTypedId("whe", lease.endpointId),
      "waymark.attempt.number": lease.attempt,
    },
  });
  return await withSpan(span, async () => {
    const result = await send();
    const { class: outcome } = result.outcome;
    if (span && outcome !== "delivered") markFailed(span, outcome);
    return result;
  });
}

/** Runs `post` in a client span. Records only scheme, host and port of the URL, because the rest can contain a secret. */
export async function traceAttempt(
  url: string,
  post: () => Promise<OutgoingResult>,
): Promise<OutgoingResult> {
  const span = startSpan("POST", { kind: SpanKind.CLIENT });
  if (span === null) return await post();
  const { hostname = "", port = "", protocol = "" } = URL.parse(url) ?? {};
  span.setAttributes({
    "http.request.method": "POST",
    "server.address": hostname,
    "server.port": Number(port) || (protocol === "http:" ? 80 : 443),
    "url.scheme": protocol.slice(0, -1),
  });
  return await withSpan(span, async () => {
    const result = await post();
    if (result.kind === "response") span.setAttribute("http.response.status_code", result.status);
    const failure = errorTypeOf(result);
    if (failure !== null) markFailed(span, failure);
    return result;
  });
}

function errorTypeOf(result: OutgoingResult): string | null {
  if (result.kind === "failure") return result.class;
  return result.status >= 400 ? String(result.status) : null;
}
