/** Output of a webhook endpoint, as JSON and as text. */
import { type EndpointView, PENDING_COUNT_LIMIT } from "../../webhooks/api.ts";

export const ENDPOINT_ARGUMENT_HELP = "endpoint ID (whe_…)";

export function presentEndpoint(endpoint: EndpointView) {
  return {
    id: endpoint.id,
    organization_id: endpoint.organizationId,
    organization_name: endpoint.organizationName,
    url: endpoint.url,
    description: endpoint.description,
    event_types: endpoint.eventTypes,
    headers: endpoint.headers,
    max_in_flight: endpoint.maxInFlight,
    per_second: endpoint.perSecond,
    status: endpoint.status,
    disabled_reason: endpoint.disabledReason,
    status_since: endpoint.statusSince,
    blocked_until: endpoint.blockedUntil,
    is_circuit_open: endpoint.isCircuitOpen,
    failing_since: endpoint.failingSince,
    pending: endpoint.pending,
    problem: endpoint.problem,
    created_by: endpoint.createdBy,
    created_at: endpoint.createdAt,
    updated_at: endpoint.updatedAt,
  };
}

const DISABLED_REASON_TEXT = {
  gone: "disabled: receiver returned 410",
  failing: "disabled: failed for days",
} as const;

/** Returns the status with the reason where there is one, for example "disabled: receiver returned 410". */
export function formatEndpointStatus({
  status,
  disabledReason,
  isCircuitOpen,
  problem,
}: EndpointView): string {
  if (disabledReason !== null) return DISABLED_REASON_TEXT[disabledReason];
  if (status !== "active") return status;
  if (problem !== null) return "active, secret unreadable";
  return isCircuitOpen ? "active, backing off" : "active";
}

export function formatPendingCount({ pending }: EndpointView): string {
  const more = pending === PENDING_COUNT_LIMIT ? "at least " : "";
  return `${more}${pending.toLocaleString("en")}`;
}
