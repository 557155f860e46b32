/** A webhook endpoint as commands show it. */
import { WAITING_COUNTED, type EndpointView } from "../webhooks/endpoint.view.ts";

export const ENDPOINT_ARGUMENT = "the endpoint's id (whe_…)";

export function endpointDocument(endpoint: EndpointView) {
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
    waiting: endpoint.waiting,
    problem: endpoint.problem,
    created_by: endpoint.createdBy,
    created_at: endpoint.createdAt,
    updated_at: endpoint.updatedAt,
  };
}

const reasons = { gone: "disabled: it answered 410", failing: "disabled: it only failed for days" } as const;

/** The status, and why. */
export function stateOf({ status, disabledReason, isCircuitOpen, problem }: EndpointView): string {
  if (disabledReason !== null) return reasons[disabledReason];
  if (status !== "active") return status;
  if (problem !== null) return "active, secret unreadable";
  return isCircuitOpen ? "active, only probed" : "active";
}

export function waitingOf({ waiting }: EndpointView): string {
  const more = waiting === WAITING_COUNTED ? "at least " : "";
  return `${more}${waiting.toLocaleString("en")}`;
}
