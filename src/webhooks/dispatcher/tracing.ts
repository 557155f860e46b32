/** Spans for deliveries and attempts. They continue the trace of the request that caused the event. */
import { toTypedId } from "../../core/ids.ts";
import type { OutgoingResult } from "../../core/http-client/client.ts";
import { withSpan, type Span, type Tracing } from "../../core/tracing/tracing.ts";
import type { Lease } from "./lease.ts";

/** Runs `send` in a delivery span. Each retry gets a span of its own. */
export async function traceDelivery<Result extends { outcome: { class: string } }>(
  tracing: Tracing,
  lease: Lease,
  send: () => Promise<Result>,
): Promise<Result> {
  const span = startDeliverySpan(tracing, lease);
  return await withSpan(span, async () => {
    const result = await send();
    const { class: outcome } = result.outcome;
    if (outcome !== "delivered") span?.fail(outcome);
    return result;
  });
}

/** Null if the event's request was not traced. */
function startDeliverySpan(tracing: Tracing, lease: Lease): Span | null {
  return tracing.continueTrace(lease.traceParent, "deliver webhook_delivery", {
    kind: "consumer",
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
}

/** Runs `post` in a client span. Records only scheme, host and port of the URL, because the rest can contain a secret. */
export async function traceAttempt(
  tracing: Tracing,
  url: string,
  post: () => Promise<OutgoingResult>,
): Promise<OutgoingResult> {
  const span = tracing.startSpan("POST", { kind: "client", attributes: { "http.request.method": "POST" } });
  if (span === null) return await post();
  const { hostname = "", port = "", protocol = "" } = URL.parse(url) ?? {};
  span.set({
    "server.address": hostname,
    "server.port": Number(port) || (protocol === "http:" ? 80 : 443),
    "url.scheme": protocol.slice(0, -1),
  });
  try {
    const result = await post();
    if (result.kind === "response") span.set({ "http.response.status_code": result.status });
    const failure = errorTypeOf(result);
    if (failure !== null) span.fail(failure);
    return result;
  } finally {
    span.end();
  }
}

function errorTypeOf(result: OutgoingResult): string | null {
  if (result.kind === "failure") return result.class;
  return result.status >= 400 ? String(result.status) : null;
}
