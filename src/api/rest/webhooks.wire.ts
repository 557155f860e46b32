/** Endpoints and deliveries as REST shows them. */
import type { z } from "zod";
import {
  type AttemptView,
  type DeliveryView,
  type DeliveryWithAttempts,
  type EndpointView,
  toHeaderList,
} from "../../webhooks/api.ts";
import type { deliveryDetailSchema, deliverySchema, endpointSchema } from "./webhooks.schema.ts";

type EndpointWire = z.output<typeof endpointSchema>;
type DeliveryWire = z.output<typeof deliverySchema>;
type DeliveryDetailWire = z.output<typeof deliveryDetailSchema>;

/** The organisation is always that of the key, so it is left out. */
export function toEndpointWire(endpoint: EndpointView): EndpointWire {
  return {
    id: endpoint.id,
    url: endpoint.url,
    description: endpoint.description,
    event_types: endpoint.eventTypes,
    headers: toHeaderList(endpoint.headers),
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
    secret_created_at: endpoint.secretCreatedAt,
    previous_secrets_expire_at: endpoint.previousSecretsExpireAt,
    created_by: endpoint.createdBy,
    created_at: endpoint.createdAt,
    updated_at: endpoint.updatedAt,
  };
}

export function toDeliveryWire(delivery: DeliveryView): DeliveryWire {
  return {
    id: delivery.id,
    endpoint_id: delivery.endpointId,
    event_id: delivery.eventId,
    event_type: delivery.eventType as DeliveryWire["event_type"],
    marking_number: delivery.markingNumber,
    origin: delivery.origin,
    status: delivery.status,
    attempt_count: delivery.attempts,
    outcome: delivery.outcome,
    next_attempt_at: delivery.nextAttemptAt,
    is_in_flight: delivery.isInFlight,
    created_at: delivery.createdAt,
    finished_at: delivery.finishedAt,
  };
}

/** The body contains the whole job, except for a test event: without `canReadJobs` it is null. */
export function toDeliveryDetailWire(
  { delivery, attempts, requestBody }: DeliveryWithAttempts,
  { canReadJobs }: { canReadJobs: boolean },
): DeliveryDetailWire {
  return {
    ...toDeliveryWire(delivery),
    request_body: canReadJobs || delivery.jobId === null ? requestBody : null,
    attempts: attempts.map(toAttemptWire),
  };
}

function toAttemptWire(attempt: AttemptView): DeliveryDetailWire["attempts"][number] {
  return {
    id: attempt.id,
    number: attempt.number,
    started_at: attempt.startedAt,
    duration_ms: attempt.durationMs,
    outcome: attempt.outcome,
    http_status: attempt.httpStatus,
    error: attempt.error,
    request_headers: toHeaderList(attempt.requestHeaders),
    response_headers: attempt.responseHeaders && toHeaderList(attempt.responseHeaders),
    response_body: attempt.responseBody,
  };
}
